/** The request of a call on the orders lane, translated again: what is sent, or how it is refused. */
import { errorBody, legacyError } from '../../contract/legacy-errors.ts';
import { type UpstreamCallName, upstreamRoutes } from '../../contract/upstream.ts';
import { PuenteError } from '../../error.ts';
import { askedAmount } from '../../mapping/asked-amount.ts';
import type { MappingContext, Translated } from '../../mapping/tables.ts';
import type { CapturedMessages } from '../../proxy/evidence/exchange.ts';
import type { Again } from './again.ts';
import { type Change, changeOf, changesIn, lossChanges } from './changes.ts';

type Sent = CapturedMessages['upstream'][number];

/** What is sent now against what was sent then; ids that were given out then are given again. */
export function requestChanges(again: Again): Change[] {
  const { exchange, messages, asked } = again;
  const { operation } = asked;
  const sent = operation.upstream === null ? null : sentCall(messages, operation.upstream);
  const now = translated(again, sent);
  const told = `${messages.answer.status} ${exchange.error ?? ''}`.trim();
  if (now.kind === 'refused')
    return sent === null && told === now.told ? [] : changeOf('refusal', thenWords(sent, told), now.told);
  if (sent === null) return wasTranslated(again, now.value) ? [] : changeOf('refusal', told, 'translated');
  const { path, query, body } = now.value.value;
  const target = targetOf(operation.upstream ?? 'get', path ?? {}, query ?? {});
  return [
    ...changeOf('upstream', sent.path, target),
    ...changesIn('upstream', sent.body, again.tools.redact(body)),
    ...(exchange.fired.length === 0 ? [] : lossChanges(exchange.losses, now.value.losses)),
  ];
}

/** The last call of a name that an exchange made; null when it made none. */
export function sentCall({ upstream }: CapturedMessages, name: UpstreamCallName): Sent | null {
  const { method, path } = upstreamRoutes[name];
  const pattern = new RegExp(`^${path.replaceAll(/:\w+/g, '[^/?]+')}(?:\\?|$)`);
  return upstream.findLast((call) => call.method === method && pattern.test(call.path)) ?? null;
}

type Translation = { kind: 'translated'; value: Translated } | { kind: 'refused'; told: string };

function translated({ tools, asked }: Again, sent: Sent | null): Translation {
  const { operation, source, context } = asked;
  try {
    const given = { ...context, ...givenThen(asked, sent) };
    return { kind: 'translated', value: tools.tables.request(operation, source, given) };
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
    const { error: name, detail } = error.facts;
    const entry = legacyError(operation.family, String(name)) ?? legacyError(operation.family, 'internal');
    if (entry === null) throw error;
    const { error: word } = errorBody(operation.family, entry, String(detail ?? ''));
    return { kind: 'refused', told: `${entry.status} ${String(word)}` };
  }
}

interface SentBody {
  external_reference?: unknown;
  config?: { qr?: { external_pos_id?: string } };
  transactions?: { id?: unknown }[];
}

/** Stands in for the order of a call that was answered before anything was sent; it has the form of one. */
const SOME_ORDER = `ORD${'0'.repeat(26)}`;

/** What only the store knew: the reference that went, the order that was meant, the part that was refunded. */
function givenThen({ operation, source, context }: Again['asked'], sent: Sent | null): MappingContext {
  const body = (sent?.body ?? {}) as SentBody; // Puente's own JSON
  const given: MappingContext = operation.upstream === 'create' ? {} : { order_id: SOME_ORDER };
  if (typeof body.external_reference === 'string') given.reference = body.external_reference;
  // A till that its call names by a number alone was looked up.
  const till = source.path.external_pos_id ?? body.config?.qr?.external_pos_id;
  if (till !== undefined) given.external_pos_id = till;
  const order_id = /^\/v1\/orders\/([^/?]+)/.exec(sent?.path ?? '')?.[1];
  if (order_id !== undefined) given.order_id = order_id;
  if (operation.upstream !== 'refund' || sent?.body === undefined || sent.body === null) return given;
  const { amount } = Object(source.body) as { amount?: unknown }; // any JSON; its table has the last word
  const refund_minor = askedAmount(amount, Number(context.exponent));
  return refund_minor === null ? given : { ...given, refund_minor, transaction_id: body.transactions?.[0]?.id };
}

/** Answered from what Puente had, or refused by the state of things, once the tables had taken it. */
function wasTranslated({ exchange }: Again, now: Translated): boolean {
  return exchange.status < 400 || exchange.fired.length > 1 || now.fired.length <= 1 || isOfState(exchange.error);
}

/** The till was told of something that no request table says: no such intent, no such order. */
function isOfState(error: string | null): boolean {
  return error !== null && /not_found|^404$|^101$|^111$|unauthorized|^401$|forbidden|^403$/.test(error);
}

function thenWords(sent: Sent | null, told: string): string {
  return sent === null ? told : 'translated';
}

function targetOf(name: UpstreamCallName, path: Record<string, string>, query: Record<string, string>): string {
  const filled = upstreamRoutes[name].path.replaceAll(/:(\w+)/g, (_, key: string) => path[key] ?? `:${key}`);
  const text = new URLSearchParams(query).toString();
  return text === '' ? filled : `${filled}?${text}`;
}
