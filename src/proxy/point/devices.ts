/** Lists devices, and changes their mode. */
import { listTerminalsAnswer, parseSetupAnswer } from '../../contract/terminals.ts';
import { SELF_SERVICE_SHOWN } from '../../mapping/converters/point.ts';
import { markLimitation } from '../evidence/exchange.ts';
import {
  answered,
  type LegacyAnswer,
  type LegacyCall,
  merchantContext,
  refused,
  upstreamRefusal,
} from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import {
  routeOf,
  SHORTEST_READ_MS,
  sendUntilReady,
  type UpstreamCall,
  type UpstreamOutcome,
} from '../upstream/upstream.ts';

/** Both calls may be repeated: a list is a read, and setting a mode is idempotent. */
const ATTEMPTS = 2;

/** `GET …/devices`: `GET /terminals/v1/list` with the same paging and filters (`docs/field-notes.md` Point §1.1). */
export async function listDevices(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const { value } = translate(ports, call);
  const { list, outcome } = await readTerminals(ports, call, value.query ?? {});
  if (list === null) return upstreamRefusal(ports, call, 'terminals_list', unreadable(outcome));
  for (const { operating_mode } of list.data.terminals) {
    if (operating_mode === 'SELF_SERVICE') markLimitation(ports.exchange, 'LIM-71');
    else if (operating_mode === 'UNDEFINED') markLimitation(ports.exchange, 'LIM-72');
  }
  return answerWith(ports, call, list);
}

/** `GET /terminals/v1/list`. @returns a null list for an outcome that is no readable success. */
async function readTerminals(ports: Ports, call: LegacyCall, query: Record<string, string>) {
  const { timeout_ms } = ports.settings.reads;
  const outcome = await send(ports, call, { ...routeOf('terminals_list'), query, token: call.token, timeout_ms });
  const is_success = outcome.kind === 'answered' && outcome.status === 200;
  const parsed = is_success ? listTerminalsAnswer.safeParse(outcome.body) : null;
  return { outcome, list: parsed?.success ? parsed.data : null };
}

/**
 * `PATCH …/devices/{id}`: `PATCH /terminals/v1/setup` with one terminal (`docs/field-notes.md` Point §1.2). The mode
 * SELF_SERVICE is read first and kept (LIM-71), because some tills set PDV unasked (Odoo at every start).
 */
export async function changeMode(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const { value } = translate(ports, call);
  const mode = await modeOf(ports, call);
  if (mode !== null && typeof mode === 'object')
    return upstreamRefusal(ports, call, 'terminals_list', unreadable(mode));
  if (mode === 'SELF_SERVICE') {
    markLimitation(ports.exchange, 'LIM-71');
    const path = 'terminals[0].operating_mode';
    ports.exchange?.losses.push({ table: call.operation.answer ?? '', path, why: SELF_SERVICE_SHOWN });
    return refused('point', 'self_service');
  }
  const outcome = await send(ports, call, {
    ...routeOf('terminals_setup'),
    body: Buffer.from(JSON.stringify(value.body), 'utf8'),
    token: call.token,
    timeout_ms: ports.settings.create.attempt_timeout_ms,
  });
  const setup = outcome.kind === 'answered' && outcome.status === 200 ? parseSetupAnswer(outcome.body) : null;
  if (!setup?.success) return upstreamRefusal(ports, call, 'terminals_setup', unreadable(outcome));
  return answerWith(ports, call, setup.data);
}

/** Longest page, and most pages: more terminals than a merchant has. */
const PAGE = 50;
const MOST_PAGES = 40;

/** Null for a terminal that is not listed; an outcome when the list could not be read. */
async function modeOf(ports: Ports, call: LegacyCall): Promise<string | null | UpstreamOutcome> {
  for (let page = 0; page < MOST_PAGES; page++) {
    const { list, outcome } = await readTerminals(ports, call, { limit: String(PAGE), offset: String(page * PAGE) });
    if (list === null) return outcome;
    const { terminals } = list.data;
    const found = terminals.find(({ id }) => id === call.path.device_id);
    if (found !== undefined) return found.operating_mode;
    if (terminals.length < PAGE) return null;
  }
  return null;
}

function translate(ports: Ports, call: LegacyCall): ReturnType<Ports['tables']['request']> {
  const { path, query, headers, body } = call;
  return ports.tables.request(call.operation, { path, query, headers, body }, merchantContext(ports, call.merchant));
}

function answerWith(ports: Ports, call: LegacyCall, source: unknown): LegacyAnswer {
  const { value, losses } = ports.tables.answer(call.operation, source, {
    ...merchantContext(ports, call.merchant),
    device_id: call.path.device_id,
  });
  ports.exchange?.losses.push(...losses);
  return answered(200, value.body);
}

/**
 * Repeats while upstream is not ready and the till waits, and once more after a lost or failed answer. All calls of one
 * operation share the till's deadline, because tills give up soon after it (`docs/field-notes.md` Point §4.1).
 */
function send(ports: Ports, { received_at }: LegacyCall, request: UpstreamCall): Promise<UpstreamOutcome> {
  const deadline = received_at + ports.settings.create.deadline_ms;
  return sendUntilReady(ports, deadline, () => sendTwice(ports, request, deadline));
}

async function sendTwice(ports: Ports, call: UpstreamCall, deadline: number): Promise<UpstreamOutcome> {
  let outcome: UpstreamOutcome = { kind: 'not_sent', cause: 'no time is left for the call' };
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const left_ms = deadline - ports.clock.now();
    if (left_ms < SHORTEST_READ_MS) break;
    if (attempt > 0 && !(worthRepeating(outcome) && ports.memory.retries.spend())) break;
    outcome = await ports.upstreams.orders.send({ ...call, timeout_ms: Math.min(call.timeout_ms, left_ms) });
  }
  return outcome;
}

function worthRepeating(outcome: UpstreamOutcome): boolean {
  return outcome.kind !== 'answered' || outcome.status >= 500;
}

/** An unreadable success counts as no answer. */
function unreadable(outcome: UpstreamOutcome): UpstreamOutcome {
  const success = outcome.kind === 'answered' && outcome.status < 300;
  return success ? { kind: 'broken', cause: 'success without a readable body' } : outcome;
}
