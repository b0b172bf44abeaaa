/** A till script that runs in every world: a list of steps, and the transcript of what a till sees. */
import { type Answer, call, DEVICE, type Delivery, POINT, tokenOf, topicOf } from '../kit.ts';
import { normaliser, POINT_NUMBERS, POINT_TIMES, shownAnswer, shownBody } from './transcript.ts';

/** A step of a till or of the person at its terminal. Names in braces are replaced: `{device}`, and those of `as`. */
export type Step =
  | { call: string; body?: unknown; headers?: Record<string, string>; as?: string; token?: string | null }
  | { person: string; device?: string; options?: object }
  /** A setting of the sandbox, through its control door. */
  | { sandbox: string; body: unknown }
  | { advance_ms: number }
  /** Waits for this many more notices, plus `payments` where payments have their own topic; records them. */
  | { notices: number; payments?: number };

/** The world of a script: a door with the legacy API, and the terminal and clock behind it. */
export interface ScriptWorld {
  /** URL of the legacy API, without a trailing slash. */
  door_url: string;
  control_url: string;
  merchant: string;
  /** Whether a payment has a notice of its own topic, besides its intent's. */
  tells_payments: boolean;
  notices(count: number): Promise<Delivery[]>;
}

/** One line per call or notice; ids, times and payment numbers are numbered by order of appearance. */
export type Transcript = string[];

export interface ScriptTill {
  /** Runs the steps; ids and notices are kept between scripts. */
  run(script: readonly Step[]): Promise<Transcript>;
}

export function newTill(world: ScriptWorld): ScriptTill {
  const normal = normaliser({ numbers: POINT_NUMBERS, times: POINT_TIMES });
  const names = new Map<string, string>([['device', DEVICE]]);
  let seen = 0;
  async function take(step: Step): Promise<Transcript> {
    if ('call' in step) {
      const answer = await sendCall(world, step, names);
      remember(names, step.as, answer);
      return [
        `> ${step.call}${step.body === undefined ? '' : ` ${shownBody(step.body)}`}`,
        `< ${normal(shownAnswer(answer))}`,
      ];
    }
    if ('person' in step) {
      const path = `/_sandbox/terminals/${world.merchant}/${step.device ?? DEVICE}/${step.person}`;
      const { status, text } = await call(world.control_url + path, { body: step.options ?? {} });
      if (status !== 200) throw new Error(`The person could not ${step.person}: ${text}`);
      return [`= ${step.person} at the terminal`];
    }
    if ('sandbox' in step) {
      const path = step.sandbox.replace('{merchant}', world.merchant).replace('{device}', DEVICE);
      const { status, text } = await call(`${world.control_url}/_sandbox/${path}`, { method: 'PUT', body: step.body });
      if (status !== 200) throw new Error(`The sandbox refused ${path}: ${text}`);
      return [`= ${path} is set`];
    }
    if ('advance_ms' in step) {
      await call(`${world.control_url}/_sandbox/clock`, { body: { advance_ms: step.advance_ms } });
      return [`= ${step.advance_ms} ms pass`];
    }
    const payments = world.tells_payments ? (step.payments ?? 0) : 0;
    const all = await world.notices(seen + step.notices + payments);
    // Notices of one change arrive in any order.
    const fresh = all.slice(seen).sort((one, other) => order(one) - order(other));
    seen = all.length;
    return fresh.map((delivery) => `! ${normal(shownDelivery(delivery))}`);
  }
  return {
    async run(script) {
      const lines: Transcript = [];
      for (const step of script) lines.push(...(await take(step)));
      return lines;
    },
  };
}

/** Intent notices come first. */
function order(delivery: Delivery): number {
  return topicOf(delivery) === 'payment' ? 1 : 0;
}

/** Notices of a payment: one for the intent, one for the payment. */
export const TOLD_PAID: Step = { notices: 1, payments: 1 };

export const create = (body: unknown, as = 'sale', headers?: Record<string, string>): Step => ({
  call: 'POST /devices/{device}/payment-intents',
  body,
  as,
  ...(headers === undefined ? {} : { headers }),
});
export const get = (name = 'sale'): Step => ({ call: `GET /payment-intents/{${name}}` });
export const status = (name = 'sale'): Step => ({ call: `GET /payment-intents/{${name}}/events` });
export const cancel = (name = 'sale'): Step => ({ call: `DELETE /devices/{device}/payment-intents/{${name}}` });

async function sendCall(
  world: ScriptWorld,
  step: Extract<Step, { call: string }>,
  names: Map<string, string>,
): Promise<Answer> {
  const [method = 'GET', path = '/'] = step.call.split(/ (.*)/s);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = names.get(name);
    if (value === undefined) throw new Error(`The script names {${name}} before anything was remembered as ${name}`);
    return value;
  });
  const prefix = filled.startsWith('/v1/') ? '' : POINT;
  return call(world.door_url + prefix + filled, {
    method,
    token: step.token === undefined ? tokenOf(world.merchant) : step.token,
    ...(step.body === undefined ? {} : { body: step.body }),
    ...(step.headers === undefined ? {} : { headers: step.headers }),
  });
}

function remember(names: Map<string, string>, as: string | undefined, { body }: Answer): void {
  if (typeof body !== 'object' || body === null) return;
  if (as !== undefined && 'id' in body) names.set(as, String(body.id));
  if ('payment' in body && typeof body.payment === 'object' && body.payment !== null && 'id' in body.payment) {
    names.set('payment', String(body.payment.id));
  }
}

function shownDelivery({ query, headers, text }: Delivery): string {
  const signed =
    headers['x-signature'] === undefined
      ? 'unsigned'
      : `signed ${String(headers['x-signature']).replaceAll(/[0-9a-f]+/g, '…')}`;
  const request_id = headers['x-request-id'] === undefined ? '' : ' with request id';
  return `?${[...query].map(([name, value]) => `${name}=${value}`).join('&')} ${headers['content-type']} ${signed}${request_id} ${text}`;
}
