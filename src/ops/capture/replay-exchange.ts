/** One captured exchange done again on paper: its translation, the errors of the service, and the answer to the till. */
import type { CapturedMessages, Exchange, ShadowFinding } from '../../proxy/evidence/exchange.ts';
import type { ShadowTask } from '../../proxy/runtime.ts';
import { Secret } from '../../proxy/secret.ts';
import { askedOf, hasShadow, shadowOf } from '../../proxy/shadow/shadow.ts';
import type { Again, ExchangeTools } from './again.ts';
import { type Change, changeOf, changesIn, lossChanges } from './changes.ts';
import type { CaptureMerchant } from './format.ts';
import { answerChanges } from './replay-answer.ts';
import { requestChanges } from './replay-request.ts';
import { requestOf } from './request-of.ts';

export type Replayed =
  | { kind: 'replayed'; changes: Change[]; not_compared: string[] }
  | { kind: 'left_out'; why: string };

/** @param merchant as the capture's first line tells it; null where it says nothing. */
export function replayExchange(
  tools: ExchangeTools,
  exchange: Exchange,
  messages: CapturedMessages,
  merchant: CaptureMerchant | null,
): Replayed {
  const [path = ''] = messages.request.target.split('?', 1);
  const operation = tools.match(messages.request.method, path)?.operation ?? null;
  const name = operation?.name ?? 'none';
  const parts = requestOf(tools.match, messages.request);
  if (name !== exchange.operation || parts === null || operation === null)
    return replayed(changeOf('operation', exchange.operation ?? 'none', name));
  const request = { ...parts, body: bodyOf(operation.body, parts.body) };
  // The site may have become known after the call: what fits without it was done without it.
  const attempts = [...new Set([merchant?.site ?? null, null])].map((site) => {
    const task = taskOf(exchange, messages, request, site, merchant?.voucher ?? 'refuse');
    const again = { tools, exchange, messages, task, asked: askedOf(tools.tables, task) };
    return exchange.lane === 'legacy' ? onLegacy(again) : onOrders(again);
  });
  return attempts.find((one) => one.kind === 'replayed' && one.changes.length === 0) ?? attempts[0] ?? replayed([]);
}

export function replayed(changes: Change[], not_compared: string[] = []): Replayed {
  return { kind: 'replayed', changes, not_compared };
}

/** What was carried is legacy's; a shadow is done again. */
function onLegacy({ tools, exchange, task }: Again): Replayed {
  if (exchange.shadow === null || !hasShadow(tools.tables, task))
    return { kind: 'left_out', why: 'carried to legacy, and not translated on paper' };
  return replayed(shadowChanges(exchange.shadow, shadowOf(tools, task)));
}

function shadowChanges(then: ShadowFinding, now: ShadowFinding): Change[] {
  return [
    ...changeOf('verdict', wordsOf(then), wordsOf(now)),
    ...(then.order === null || now.order === null ? [] : changesIn('upstream', then.order, now.order)),
    ...lossChanges(then.losses, now.losses),
  ];
}

function wordsOf({ verdict, status, code, error, detail }: ShadowFinding): string {
  return [verdict, status, code, error, detail].filter((part) => part !== null).join(' ');
}

function onOrders(again: Again): Replayed {
  const { asked, task } = again;
  if (asked.operation.body === 'json' && !isObject(task.request.body))
    return { kind: 'left_out', why: 'refused at the door, before any table: its body is no JSON object' };
  const request = asked.operation.request === null ? null : requestChanges(again);
  const answer = answerChanges(again);
  return replayed([...(request ?? []), ...answer.changes], answer.not_compared);
}

function isObject(value: unknown): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** As the door hands it on. */
function bodyOf(body: 'json' | 'optional' | 'dropped', sent: unknown): unknown {
  if (body === 'dropped') return undefined;
  return body === 'optional' && (sent === undefined || sent === '') ? {} : sent;
}

function taskOf(
  exchange: Exchange,
  messages: CapturedMessages,
  request: ShadowTask['request'],
  site: string | null,
  voucher: 'refuse' | 'drop',
): ShadowTask {
  return { exchange, request, legacy_body: messages.answer.body, token: NO_TOKEN, site, voucher, messages };
}

/** Nothing is read on either side: there is no way to send from here. */
const NO_TOKEN = new Secret('none');
