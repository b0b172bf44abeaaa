/** What a create is answered with, and what is noted about it. */
import type { Loss } from '../../mapping/tables.ts';
import { markLimitation } from '../evidence/limitation-mark.ts';
import { errorAnswer, type LegacyCall } from '../http/call.ts';
import { type Answered, type LegacyAnswer, refused } from '../http/legacy-answer.ts';
import { isTerminalHeld, noteFreeTerminal, reportHeldTerminal } from '../point/held-terminal.ts';
import { distrust } from '../routing/merchant-identity.ts';
import type { Runtime } from '../runtime.ts';
import { changeLink } from './change.ts';
import type { Link } from './link.ts';
import type { Row } from './open-row.ts';
import { noteOwnDoubt } from './own-doubt.ts';
import { derivedReference } from './reference.ts';
import type { Sale } from './sale.ts';
import type { Sent } from './send.ts';

/** The legacy answer for a create whose outcome has been committed. */
export async function answerOf(
  runtime: Runtime,
  call: LegacyCall,
  sale: Sale,
  sent: Exclude<Sent, { kind: 'over' }>,
): Promise<LegacyAnswer> {
  const { family } = call.operation;
  switch (sent.kind) {
    case 'created':
      noteFreeTerminal(runtime, sent.link);
      return counted(runtime, 'created', unlessLost(runtime, sent.link, sale.created(sent.link)));
    case 'refused': {
      if (sent.status === 401) await distrust(runtime, call.token);
      if (isTerminalHeld(sent.status, sent.body)) await reportHeldTerminal(runtime, sent.link);
      return counted(
        runtime,
        'refused',
        errorAnswer(runtime, call, 'create', sent.status, sent.body, sent.retry_after_ms),
      );
    }
    case 'not_sent':
      return counted(runtime, 'not_sent', refused(family, 'bad_gateway'));
    case 'in_doubt': {
      const support = { 'x-puente-intent': sent.link.legacy_id };
      const error = sent.busy ? sale.busy_error : 'outcome_unknown';
      await noteOwnDoubt(runtime, sent.link);
      return counted(runtime, 'in_doubt', refused(family, error, null, support));
    }
  }
}

/** An answer that did not leave whole has told nothing: the same create again is its retry, whatever happens meanwhile. */
function unlessLost(runtime: Runtime, link: Link, answer: Answered): Answered {
  const over = async (whole: boolean): Promise<void> => {
    if (!whole) await changeLink(runtime, link, () => ({ change: { acknowledged_at: null } }));
  };
  return { ...answer, over };
}

/** What the till asked for with its own reference has another one upstream; an equal sale was taken for a retry without its key. */
export function markOpening(runtime: Runtime, opening: Row['opening'], asked: Link): void {
  const draft = runtime.exchange();
  if (opening.kind === 'open' && asked.client_reference !== null && !isOwn(asked)) markLimitation(draft, 'LIM-08');
  if (opening.kind !== 'join') return;
  const is_keyed_retry = asked.client_key !== null && asked.client_key === opening.link.client_key;
  if (!is_keyed_retry) markLimitation(draft, asked.family === 'qr' ? 'LIM-29' : 'LIM-14');
}

/** The client's own reference went upstream, not a derived one. */
export function isOwn(link: Link): boolean {
  return link.reference_sent !== derivedReference(link.legacy_id);
}

/** For the exchange record: whose life the call belongs to. */
export function noteId(runtime: Runtime, { legacy_id }: Link): void {
  const draft = runtime.exchange();
  if (draft !== null) draft.legacy_id = legacy_id;
}

/** Once for each sale that is opened, its retries lose nothing more; a field of a list is told once. */
export function noteLosses(runtime: Runtime, { merchant_id, legacy_id }: Link, losses: Loss[]): void {
  const told = new Set<string>();
  for (const { table, path } of losses) {
    runtime.count('losses', table);
    const name = path.replaceAll(/\[\d+\]/g, '[]');
    if (!told.has(name))
      runtime.log.info('a field did not reach the order', { merchant: merchant_id, legacy_id, table, path });
    told.add(name);
  }
}

/** @param outcome the label under which the create is counted. */
export function counted(runtime: Runtime, outcome: string, answer: LegacyAnswer): LegacyAnswer {
  runtime.count('creates', outcome);
  return answer;
}
