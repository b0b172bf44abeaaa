/** The legacy part of the control door: where a merchant's legacy notifications go, and the intents with their history. */
import { Router } from 'express';
import { z } from 'zod';
import { json, send } from '../answer.ts';
import { bodyJson, readBody } from '../body.ts';
import type { World } from '../world.ts';
import { lastStep, type TerminalWork } from './lifecycle.ts';
import { DEFAULT_SECRET, type LegacyState, type NoticeTarget } from './state.ts';

const address = z.url({ protocol: /^https?$/ });
const noticeTarget = z
  .strictObject({
    url: address.optional(),
    ipn_url: address.optional(),
    topic: z.enum(['point_integration_ipn', 'point_integration_wh']).default('point_integration_ipn'),
    secret: z.string().min(1).default(DEFAULT_SECRET),
  })
  .refine(({ url, ipn_url }) => url !== undefined || ipn_url !== undefined, 'Give url, ipn_url, or both.')
  .transform(({ url = null, ipn_url = null, ...rest }) => ({ url, ipn_url, ...rest }));

/** `GET`, `PUT` and `DELETE /_sandbox/legacy/merchants/{id}/notifications`; the secret is never shown. */
export function legacyControl(world: World, state: LegacyState): Router {
  const router = Router();
  router.use('/_sandbox/legacy/merchants/:merchant/notifications', (request, response, next) => {
    if (world.merchants.has(request.params.merchant)) next();
    else send(response, json(404, { error: 'not_found', message: `Merchant ${request.params.merchant} is unknown.` }));
  });
  const target = router.route('/_sandbox/legacy/merchants/:merchant/notifications');
  target.get((request, response) =>
    send(response, json(200, shown(state.notice_targets.get(request.params.merchant)))),
  );
  target.put(readBody, (request, response) => {
    const body = bodyJson(request);
    const parsed = noticeTarget.safeParse(body !== undefined && 'value' in body ? body.value : undefined);
    if (!parsed.success) {
      return send(response, json(400, { error: 'bad_request', message: z.prettifyError(parsed.error) }));
    }
    state.notice_targets.set(request.params.merchant, parsed.data);
    send(response, json(200, shown(parsed.data)));
  });
  target.delete((request, response) => {
    state.notice_targets.delete(request.params.merchant);
    send(response, { status: 204, body: '' });
  });
  return router;
}

/** The `legacy` part of `GET /_sandbox/state`. */
export function legacyView(state: LegacyState): object {
  return {
    counts: { intents: state.intents.size, refunds: state.refunds.size },
    intents: newest(state.intents).map((intent) => ({ ...shownWork(intent), amount: intent.amount_minor })),
    refunds: newest(state.refunds).map((refund) => ({ ...shownWork(refund), payment_id: refund.payment.id })),
    notifications: [...state.notice_targets].map(([merchant_id, target]) => ({ merchant_id, ...shown(target) })),
  };
}

/** After a load test there are too many to print; the counts are whole. */
const SHOWN = 1000;

function newest<Entry>(map: Map<string, Entry>): Entry[] {
  return [...map.values()].slice(-SHOWN);
}

function shownWork(work: TerminalWork): object {
  return {
    id: work.id,
    merchant_id: work.merchant.user_id,
    device_id: work.terminal.id,
    state: lastStep(work).state,
    history: work.history.map(({ state, at_ms }) => ({ state, at: new Date(at_ms).toISOString() })),
  };
}

function shown(target: NoticeTarget | undefined): object {
  return { url: target?.url ?? null, topic: target?.topic ?? null, ipn_url: target?.ipn_url ?? undefined };
}
