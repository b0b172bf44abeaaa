/** The legacy notifications of payment intents, told until they are acknowledged. Source: `docs/field-notes.md` Point §3.1, §3.2. */
import { createHmac, randomUUID } from 'node:crypto';
import { stringifyJson } from '../../contract/json.ts';
import type { IntentState } from '../../contract/legacy-point.ts';
import { isCalled, unverifiableSignature } from '../webhooks.ts';
import type { World } from '../world.ts';
import type { LegacyState, NoticeTarget, PaymentIntent } from './state.ts';

const announcedStates: readonly IntentState[] = ['FINISHED', 'CONFIRMATION_REQUIRED', 'CANCELED', 'ERROR'];

/**
 * Tells the merchant's receiver of a final state, if the state is one that is announced and a receiver is set.
 * The body is the intent as it is now, whatever happens before a later attempt.
 */
export function announce(world: World, state: LegacyState, intent: PaymentIntent, final: IntentState): void {
  const target = state.notice_targets.get(intent.merchant.user_id);
  if (target === undefined || target.url === null || !announcedStates.includes(final)) return;
  if (!isCalled(world, new URL(target.url))) return;
  const signed =
    target.topic === 'point_integration_wh'
      ? () => signature(target, intent.id, world.clock.realNow())
      : unverifiableSignature(world);
  state.postman.deliver({
    url: targetUrl(target.url, target.topic, intent.id),
    topic: target.topic,
    subject: intent.id,
    action: final,
    body: stringifyJson(noticeBody(intent, final)),
    headers: () => ({
      'content-type': 'application/json',
      'user-agent': 'restclient-node/4.15.3',
      ...signed(),
    }),
  });
}

function noticeBody(intent: PaymentIntent, final: IntentState): object {
  return {
    id: intent.id,
    state: final,
    amount: intent.amount_minor,
    caller_id: Number(intent.merchant.user_id),
    client_id: Number(intent.merchant.application_id),
    created_at: sqlDate(intent.history[0].at_ms),
    payment: noticePayment(intent, final),
    additional_info: intent.additional_info,
  };
}

function noticePayment(intent: PaymentIntent, final: IntentState): object | undefined {
  if (final === 'CONFIRMATION_REQUIRED') return { id: intent.payment_id, state: '', type: '' };
  if (final !== 'FINISHED' || intent.paid === null) return undefined;
  return { id: intent.paid.id, state: intent.paid.status, type: intent.paid.payment_type_id };
}

/** The dialect's query, behind whatever query the merchant's URL has. */
function targetUrl(target: string, topic: NoticeTarget['topic'], intent_id: string): string {
  const url = new URL(target);
  const told =
    topic === 'point_integration_wh'
      ? `type=point_integration_wh&data.id=${intent_id}`
      : `topic=point_integration_ipn&id=${intent_id}`;
  url.search = url.search === '' ? told : `${url.search.slice(1)}&${told}`;
  return url.href;
}

/** The id of the body signs, not a query value (`docs/field-notes.md` Point finding 3). */
function signature(target: NoticeTarget, intent_id: string, now_ms: number): Record<string, string> {
  const request_id = randomUUID();
  const manifest = `id:${intent_id};request-id:${request_id};ts:${now_ms};`;
  const v1 = createHmac('sha256', target.secret).update(manifest).digest('hex');
  return { 'x-request-id': request_id, 'x-signature': `ts=${now_ms},v1=${v1}` };
}

/** `YYYY-MM-DD HH:MM:SS` in UTC: receivers put it into a DATETIME column as it is. */
function sqlDate(time_ms: number): string {
  return new Date(time_ms).toISOString().slice(0, 19).replace('T', ' ');
}
