/** A QR till script that runs in every world: steps, and the transcript of what a till and its receiver see. */
import { type Answer, call, type Delivery, tokenOf } from '../kit.ts';
import type { Transcript } from './till-script.ts';
import { qrNormaliser, shownAnswer, shownBody, shownDelivery } from './transcript.ts';

/** A step of a till or its buyer. Names in braces are replaced by values that the script has seen. */
export type QrStep =
  | { call: string; body?: unknown; headers?: Record<string, string>; token?: string | null }
  /** Repeats the call until the answer contains this text; only that answer is recorded. */
  | { poll: string; until: string }
  /** The buyer at the printed code of a till, or, with `code`, at the code that the till showed last. */
  | { buyer: string; till?: string; code?: true; options?: object }
  | { advance_ms: number }
  /** Waits for this many more notices and records them. */
  | { notices: number };

export interface QrWorld {
  /** URL of the legacy API, without a trailing slash. */
  door_url: string;
  control_url: string;
  receiver_url: string;
  merchant: string;
  till_number: number;
  /** The shared virtual time, epoch milliseconds. */
  now(): number;
  notices(count: number): Promise<Delivery[]>;
  /** Id by which the sandbox's control door finds the owner of a code. */
  payableOf(qr_data: string): string;
  advance(duration_ms: number): Promise<void>;
}

export interface QrTill {
  /** Runs the steps; names and notices are kept between scripts, ids are numbered anew in each. */
  run(script: readonly QrStep[]): Promise<Transcript>;
}

export const TILL = 'SUC001POS001';
/** Polls of one step before a test fails; with the pause, far longer than any step takes. */
const MAX_POLLS = 200;
const POLL_PAUSE_MS = 25;
/** Distance of `{soon}` from now; `{soon}` is written in the form that tills use. */
const SOON_MS = 600_000;

/** @param shows_payer whether the transcript shows the payer of a merchant order (LIM-38). */
export function newQrTill(world: QrWorld, shows_payer = false): QrTill {
  let normal = qrNormaliser(world.receiver_url, shows_payer);
  const names = new Map<string, string>([
    ['merchant', world.merchant],
    ['till', TILL],
    ['till_number', String(world.till_number)],
    ['receiver', world.receiver_url],
  ]);
  let seen = 0;
  async function take(step: QrStep): Promise<Transcript> {
    names.set('soon', new Date(world.now() + SOON_MS).toISOString().replace('Z', '+00:00'));
    if ('call' in step) {
      const answer = await sendCall(world, step, names);
      remember(names, answer);
      const said = step.body === undefined ? '' : ` ${shownBody(step.body)}`;
      return [`> ${step.call}${said}`, `< ${normal(shownAnswer(answer))}`];
    }
    if ('poll' in step) return [`> ${step.poll}`, `< ${normal(shownAnswer(await pollFor(world, step, names)))}`];
    if ('buyer' in step) return [await actAsBuyer(world, step, names)];
    if ('advance_ms' in step) {
      await world.advance(step.advance_ms);
      return [`= ${step.advance_ms} ms pass`];
    }
    const all = await world.notices(seen + step.notices);
    const fresh = all.slice(seen).sort((one, other) => rank(one).localeCompare(rank(other)));
    seen = all.length;
    for (const { query } of fresh) names.set(query.get('topic') ?? '', query.get('id') ?? '');
    return fresh.map((delivery) => `! ${normal(shownDelivery(delivery))}`);
  }
  return {
    async run(script) {
      normal = qrNormaliser(world.receiver_url, shows_payer);
      const lines: Transcript = [];
      for (const step of script) lines.push(...(await take(step)));
      return lines;
    },
  };
}

/** Notices of the same moment overtake each other, in production too (`docs/field-notes.md` QR §5.1). */
function rank({ query, text }: Delivery): string {
  return `${query.get('topic')} ${query.get('id')?.padStart(20, '0')} ${text}`;
}

async function pollFor(
  world: QrWorld,
  { poll, until }: Extract<QrStep, { poll: string }>,
  names: ReadonlyMap<string, string>,
): Promise<Answer> {
  for (let poll_count = 0; poll_count < MAX_POLLS; poll_count++) {
    const answer = await sendCall(world, { call: poll }, names);
    if (answer.text.includes(until)) return answer;
    await new Promise((resolve) => setTimeout(resolve, POLL_PAUSE_MS));
  }
  throw new Error(`${poll} never answered ${until}`);
}

async function actAsBuyer(
  world: QrWorld,
  step: Extract<QrStep, { buyer: string }>,
  names: ReadonlyMap<string, string>,
): Promise<string> {
  const { buyer, till = TILL, code, options = {} } = step;
  const place = code ? `payables/${world.payableOf(filled('{qr_data}', names))}` : `pos/${world.merchant}/${till}`;
  const { status, text } = await call(`${world.control_url}/_sandbox/${place}/${buyer}`, { body: options });
  if (status !== 200) throw new Error(`The buyer could not ${buyer}: ${text}`);
  return `= the buyer: ${buyer}`;
}

async function sendCall(
  world: QrWorld,
  step: Extract<QrStep, { call: string }>,
  names: ReadonlyMap<string, string>,
): Promise<Answer> {
  const [method = 'GET', path = '/'] = step.call.split(/ (.*)/s);
  return call(world.door_url + filled(path, names), {
    method,
    token: step.token === undefined ? tokenOf(world.merchant) : step.token,
    ...(step.body === undefined ? {} : { body: filled(shownBody(step.body), names) }),
    ...(step.headers === undefined ? {} : { headers: step.headers }),
  });
}

function filled(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\{([a-z_]+)\}/g, (whole, name: string) => {
    const value = names.get(name);
    if (value === undefined) throw new Error(`The script names ${whole} before anything was seen of that name`);
    return value;
  });
}

/** Keeps ids of an answer; notices and searches also set `{merchant_order}` and `{payment}`. */
function remember(names: Map<string, string>, { body }: Answer): void {
  if (typeof body !== 'object' || body === null) return;
  if ('qr_data' in body) names.set('qr_data', String(body.qr_data));
  if ('refund_mode' in body && 'id' in body) names.set('refund', String(body.id));
  const found = 'results' in body && Array.isArray(body.results) ? body.results[0] : undefined;
  if (found !== undefined) names.set('payment', String(found.id));
}
