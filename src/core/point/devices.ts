/** The stories of devices: list them, change their mode. */
import { listTerminalsAnswer, setupTerminalAnswer } from '../../contract/terminals.ts';
import { answered, type LegacyAnswer } from '../answer.ts';
import { type LegacyCall, merchantContext, upstreamRefusal } from '../call.ts';
import type { Runtime } from '../runtime.ts';
import { routeOf, type UpstreamCall, type UpstreamOutcome } from '../upstream.ts';

/** Both calls may be repeated without harm: a list is a read, and setting a mode twice sets it once. */
const ATTEMPTS = 2;

/** `GET …/devices`: `GET /terminals/v1/list` with the same paging and filters (`legacy-point.md` §1.1). */
export async function listDevices(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const { value } = translate(runtime, call);
  const outcome = await sendTwice(runtime, {
    ...routeOf('terminals_list'),
    query: value.query ?? {},
    token: call.token,
    timeout_ms: runtime.settings.reads.timeout_ms,
  });
  const list =
    outcome.kind === 'answered' && outcome.status === 200 ? listTerminalsAnswer.safeParse(outcome.body) : null;
  if (!list?.success) return upstreamRefusal(runtime, call, 'terminals_list', unreadable(outcome));
  return answerWith(runtime, call, list.data);
}

/** `PATCH …/devices/{id}`: `PATCH /terminals/v1/setup` with one terminal (`legacy-point.md` §1.2). */
export async function changeMode(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const { value } = translate(runtime, call);
  const outcome = await sendTwice(runtime, {
    ...routeOf('terminals_setup'),
    body: Buffer.from(JSON.stringify(value.body), 'utf8'),
    token: call.token,
    timeout_ms: runtime.settings.create.attempt_timeout_ms,
  });
  const setup =
    outcome.kind === 'answered' && outcome.status === 200 ? setupTerminalAnswer.safeParse(outcome.body) : null;
  if (!setup?.success) return upstreamRefusal(runtime, call, 'terminals_setup', unreadable(outcome));
  return answerWith(runtime, call, setup.data);
}

function translate(runtime: Runtime, call: LegacyCall): ReturnType<Runtime['tables']['request']> {
  const { path, query, headers, body } = call;
  return runtime.tables.request(
    call.operation,
    { path, query, headers, body },
    merchantContext(runtime, call.merchant),
  );
}

function answerWith(runtime: Runtime, call: LegacyCall, source: unknown): LegacyAnswer {
  const { value } = runtime.tables.answer(call.operation, source, {
    ...merchantContext(runtime, call.merchant),
    device_id: call.path.device_id,
  });
  return answered(200, value.body);
}

async function sendTwice(runtime: Runtime, call: UpstreamCall): Promise<UpstreamOutcome> {
  let outcome = await runtime.upstream.send(call);
  for (let attempt = 1; attempt < ATTEMPTS && worthRepeating(outcome) && runtime.budget.spend(); attempt++) {
    outcome = await runtime.upstream.send(call);
  }
  return outcome;
}

function worthRepeating(outcome: UpstreamOutcome): boolean {
  return outcome.kind !== 'answered' || outcome.status >= 500;
}

/** A success that can't be read is told as an answer that did not come. */
function unreadable(outcome: UpstreamOutcome): UpstreamOutcome {
  const success = outcome.kind === 'answered' && outcome.status < 300;
  return success ? { kind: 'broken', cause: 'success without a readable body' } : outcome;
}
