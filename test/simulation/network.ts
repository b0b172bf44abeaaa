/** The network to the upstream: latency, faults, outages, and a log of every call. */
import { parseJson } from '../../src/contract/json.ts';
import type { UpstreamCall as Call, Upstream, UpstreamOutcome } from '../../src/proxy/upstream/upstream.ts';
import type { Random } from '../crash/random.ts';
import type { SimulatedClock } from './clock.ts';
import type { Reply } from './door.ts';
import type { UpstreamCall } from './history.ts';
import type { Service } from './service.ts';
import type { FaultName, FaultyCall, Variant } from './steps.ts';

/** Latency of a request, and of an answer. */
const FASTEST_MS = 5;
const SLOWEST_MS = 120;
const REFUSED_MS = 2;
const RATE_WAIT_MS = 1_000;

export interface Armed {
  call: FaultyCall;
  what: FaultName;
  times: number;
}

export interface Network {
  calls: UpstreamCall[];
  armed: Armed[];
  /** Upstream is unreachable before this, epoch ms. */
  down_until: number;
  connect(life: { number: number; isAlive(): boolean }): Upstream;
  /** Calls that have not ended for the product. */
  pending(): number;
  reset(plan: { variant: Variant; random: Random; dates_ahead_ms: number }): void;
}

interface State {
  variant: Variant;
  random: Random;
  /** How far dates of open orders are ahead of those of ended orders (`docs/protocol.md` §3.12). */
  dates_ahead_ms: number;
  /** V4: the saved 500 of each key. */
  saved: Map<string, Reply>;
  /** Earlier answers of each path, without duplicates. */
  seen: Map<string, [Reply, ...Reply[]]>;
  pending: number;
}

export function createNetwork(clock: SimulatedClock, service: Service): Network {
  let state: State | null = null;
  const network: Network = {
    calls: [],
    armed: [],
    down_until: 0,
    pending: () => state?.pending ?? 0,
    connect: (life) => ({
      send: (call) => {
        if (state === null) throw new Error('the network has no plan');
        return life.isAlive() ? send(clock, service, network, state, life, call) : never();
      },
    }),
    reset({ variant, random, dates_ahead_ms }) {
      network.calls = [];
      network.armed = [];
      network.down_until = 0;
      state = { variant, random, dates_ahead_ms, saved: new Map(), seen: new Map(), pending: 0 };
    },
  };
  return network;
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

function send(
  clock: SimulatedClock,
  service: Service,
  network: Network,
  state: State,
  life: { number: number; isAlive(): boolean },
  call: Call,
): Promise<UpstreamOutcome> {
  const { random } = state;
  const line = lineOf(clock.now(), call, life.number, faultFor(clock, network, call));
  network.calls.push(line);
  state.pending++;
  return new Promise((resolve) => {
    const tell = (delay_ms: number, outcome: UpstreamOutcome): void => {
      clock.after(delay_ms, () => {
        if (line.over_at !== null) return;
        line.over_at = clock.now();
        state.pending--;
        if (outcome.kind === 'answered') line.status = outcome.status;
        if (life.isAlive()) resolve(outcome);
      });
    };
    if (line.fault === 'refused') return tell(REFUSED_MS, { kind: 'not_sent', cause: 'connection refused' });
    tell(call.timeout_ms, { kind: 'broken', cause: 'no answer in time' });
    const way_ms = random.between(FASTEST_MS, SLOWEST_MS);
    const there_ms = line.fault === 'late' ? call.timeout_ms + random.between(1, 20_000) : way_ms;
    clock.after(there_ms, () => {
      const reply = arrive(service, state, line, call);
      const back_ms = line.fault === 'slow' ? call.timeout_ms + 1 : random.between(FASTEST_MS, SLOWEST_MS);
      const outcome = outcomeOf(line, reply);
      if (outcome !== null) tell(back_ms, outcome);
    });
  });
}

function lineOf(at: number, call: Call, life: number, fault: FaultName | null): UpstreamCall {
  return {
    at,
    name: call.name,
    merchant_id: call.token.reveal().split('-').at(-1) ?? '',
    key: call.idempotency_key ?? null,
    body: call.body === undefined ? null : Buffer.from(call.body).toString('utf8'),
    path: call.path,
    fault,
    status: null,
    over_at: null,
    life,
  };
}

/** The first armed fault that fits the call; an outage refuses all calls. */
function faultFor(clock: SimulatedClock, network: Network, call: Call): FaultName | null {
  if (clock.now() < network.down_until) return 'refused';
  const found = network.armed.find(
    ({ call: name, times, what }) => times > 0 && (name === call.name || name === 'any') && fits(what, call),
  );
  if (found === undefined) return null;
  found.times--;
  return found.what;
}

function fits(what: FaultName, { name }: Call): boolean {
  if (what === 'stale' || what === 'missing' || what === 'other sum') return name === 'get';
  if (what === 'idempotency error') return name === 'create' || name === 'refund';
  if (what === 'foreign') return name === 'create';
  return true;
}

function arrive(service: Service, state: State, line: UpstreamCall, call: Call): Reply {
  const { fault, key } = line;
  const saved = key === null ? undefined : state.saved.get(key);
  if (saved !== undefined) return saved;
  const refusal = refusalFor(fault);
  if (refusal !== null) return remember(state, line, refusal);
  if (fault === 'lost before') return NOTHING;
  const before = state.seen.get(call.path);
  if (fault === 'stale' && before !== undefined) return state.random.pick(before);
  const query = call.query === undefined ? '' : `?${new URLSearchParams(call.query)}`;
  let reply = service.serve({
    method: call.method,
    url: call.path + query,
    headers: {
      ...lowered(call.headers ?? {}),
      authorization: `Bearer ${call.token.reveal()}`,
      ...(key === null ? {} : { 'x-idempotency-key': key }),
    },
    body: call.body === undefined ? null : Buffer.from(call.body),
  });
  if (state.dates_ahead_ms > 0) reply = datedAhead(reply, state.dates_ahead_ms);
  if (call.name === 'get') remind(state, call.path, reply);
  if (fault === 'other sum') return { ...reply, text: reply.text.replaceAll(/"(total_amount|amount)":"/g, '$&1') };
  if (fault === 'error after') return remember(state, line, problem(500, 'internal_error'));
  if (fault === 'bad gateway') return { status: 502, headers: {}, text: '<html>Bad Gateway</html>' };
  return reply;
}

const OPEN_ORDER: ReadonlySet<unknown> = new Set(['created', 'at_terminal', 'action_required']);

/** One machine dates open orders, another one ended orders. */
function datedAhead(reply: Reply, ahead_ms: number): Reply {
  const body = reply.status < 300 && reply.text !== '' ? (JSON.parse(reply.text) as Record<string, unknown>) : {};
  const { status, last_updated_date: date } = body;
  if (!OPEN_ORDER.has(status) || typeof date !== 'string') return reply;
  const last_updated_date = new Date(Date.parse(date) + ahead_ms).toISOString();
  return {
    ...reply,
    text: reply.text.replaceAll(`"last_updated_date":"${date}"`, `"last_updated_date":"${last_updated_date}"`),
  };
}

/** V4 repeats the error of a key for every later call with it. */
function remember(state: State, { key }: UpstreamCall, reply: Reply): Reply {
  if (state.variant === 'V4' && key !== null && reply.status === 500) state.saved.set(key, reply);
  return reply;
}

function remind({ seen }: State, path: string, reply: Reply): void {
  const before = seen.get(path);
  if (before === undefined) seen.set(path, [reply]);
  else if (before.at(-1)?.text !== reply.text) before.push(reply);
}

function refusalFor(fault: FaultName | string | null): Reply | null {
  if (fault === 'error before') return problem(500, 'internal_error');
  if (fault === 'idempotency error') return problem(500, 'idempotency_validation_failed');
  if (fault === 'rate') return problem(429, 'too_many_requests');
  if (fault === 'redirect') return { status: 302, headers: { location: 'https://elsewhere.invalid/' }, text: '' };
  if (fault === 'unauthorized')
    return { status: 401, headers: {}, text: '{"code":"unauthorized","message":"user not found"}' };
  return fault === 'missing' ? problem(404, 'order_not_found') : null;
}

/** The client's outcome; null when it times out without an answer. */
function outcomeOf({ fault }: UpstreamCall, reply: Reply): UpstreamOutcome | null {
  switch (fault) {
    case 'lost before':
    case 'slow':
    case 'late':
      return null;
    case 'lost after':
      return { kind: 'broken', cause: 'connection reset' };
    case 'truncated':
      return { kind: 'broken', cause: 'the answer broke off' };
    case 'foreign':
      return { kind: 'answered', status: reply.status, retry_after_ms: null, body: foreign(reply) };
  }
  const body = fault === 'empty' ? undefined : bodyOf(reply);
  // As in the real client, a success without a JSON body is none.
  if (reply.status < 300 && body === undefined) return { kind: 'broken', cause: 'no JSON body' };
  return { kind: 'answered', status: reply.status, retry_after_ms: fault === 'rate' ? RATE_WAIT_MS : null, body };
}

function foreign(reply: Reply): unknown {
  const body = bodyOf(reply);
  return typeof body === 'object' && body !== null ? { ...body, external_reference: 'somebody-elses' } : body;
}

function bodyOf({ text }: Reply): unknown {
  if (text === '') return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function problem(status: number, code: string): Reply {
  return { status, headers: {}, text: JSON.stringify({ errors: [{ code, message: code }] }) };
}

function lowered(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

const NOTHING: Reply = { status: 0, headers: {}, text: '' };
