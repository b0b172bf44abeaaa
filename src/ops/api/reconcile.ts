/** Reconciliation on the ops door: told as it runs, one JSON object a line. */

import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import { type ReconcileNews, reconcile, reconcileAsk } from '../reconcile/reconcile.ts';
import { type OpsRoute, opsRoute, streamed } from './route.ts';

export const reconcileRoutes: OpsRoute[] = [
  opsRoute({
    method: 'POST',
    path: '/api/reconcile',
    role: 'operator',
    role_note: say('role_note.reconcile', {}),
    summary:
      'Compares open and recent links, and events nobody matched, with the upstream; repairs what is safe when `apply` is set.',
    body: reconcileAsk,
    answer: { streams: ['application/x-ndjson'] },
    command: 'reconcile',
    run: async ({ runtime }, { body, person }) => {
      if (body.apply && body.reason === undefined) {
        throw new PuenteError(
          'bad_request',
          say('input.at', { where: 'reason', wrong: say('input.repair_reason', {}) }),
        );
      }
      return streamed({
        content_type: 'application/x-ndjson',
        file_name: null,
        parts: linesOf(reconcile(runtime, body, person.name)),
      });
    },
  }),
];

async function* linesOf(news: AsyncIterable<ReconcileNews>): AsyncGenerator<string> {
  for await (const one of news) yield `${JSON.stringify(one)}\n`;
}
