/** The delivery of webhooks to the product: lost, late, doubled, out of order, forged, and repeated until accepted. */
import { createHmac } from 'node:crypto';
import type { Random } from '../crash/random.ts';
import type { SimulatedClock } from './clock.ts';
import type { Ask, Reply } from './door.ts';
import type { Webhook } from './history.ts';
import { type PostedLetter, WEBHOOK_SECRET } from './service.ts';
import type { MailName } from './steps.ts';

/** Retries of one webhook, with the vendor's pause between them (`docs/protocol.md` §3.1). */
const RETRIES = 6;
const RETRY_MS = 15 * 60_000;
const FASTEST_MS = 10;
const SLOWEST_MS = 400;
/** Long enough to arrive after later webhooks. */
const SLOW_MS = 6_000;
const LATE_MS = 40 * 60_000;

/** The product's door for webhooks; `over` gets null without an answer. */
export interface Doorstep {
  ask(ask: Ask, over: (reply: Reply | null) => void): void;
  /** The product's wall clock, epoch ms. */
  wall(): number;
  /** A row of the order was committed since then, or is pending. */
  isKept(order_id: string, since: number): boolean;
}

/** A webhook may have been merged with an identical one this shortly before, and be read before its own answer. */
const TOGETHER_MS = 50;

export interface Mail {
  log: Webhook[];
  armed: { what: MailName; times: number }[];
  post(letter: PostedLetter): void;
  forge(order_id: string, merchant_id: string, reference: string, action: string, signed: boolean): void;
  resend(nth: number): void;
  pending(): number;
  reset(random: Random): void;
}

interface Sending {
  url: string;
  body: string;
  headers: Record<string, string>;
  order_id: string;
  action: string;
  from: Webhook['from'];
}

export function createMail(clock: SimulatedClock, door: Doorstep): Mail {
  let random: Random | null = null;
  let sent: Sending[] = [];
  let pending = 0;
  const chance = (): Random => {
    if (random === null) throw new Error('the post has no plan');
    return random;
  };

  function attempt(sending: Sending, delay_ms: number, tries: number, isLost = false): void {
    pending++;
    const epoch = sent;
    clock.after(delay_ms, () => {
      const again = (): void => {
        pending--;
        if (tries > 0 && epoch === sent) attempt(sending, RETRY_MS, tries - 1);
      };
      if (isLost) return again();
      deliver(sending, again, () => pending--);
    });
  }

  function deliver(sending: Sending, again: () => void, done: () => void): void {
    const { url, body, headers, order_id, action, from } = sending;
    const { pathname, search } = new URL(url);
    const line: Webhook = { at: clock.now(), order_id, action, from, status: null, kept: false };
    mail.log.push(line);
    const since = door.wall() - TOGETHER_MS;
    const ask = { method: 'POST', url: pathname + search, headers, body: Buffer.from(body) };
    door.ask(ask, (reply) => {
      line.status = reply?.status ?? null;
      line.kept = door.isKept(order_id, since);
      if (reply !== null && (reply.status === 200 || reply.status === 201)) done();
      else again();
    });
  }

  const mail: Mail = {
    log: [],
    armed: [],
    pending: () => pending,
    post(letter) {
      const sending = sendingOf(letter);
      sent.push(sending);
      const order = mail.armed.find(({ times }) => times > 0);
      if (order !== undefined) order.times--;
      const quick_ms = chance().between(FASTEST_MS, SLOWEST_MS);
      switch (order?.what) {
        case 'lost':
          return;
        case 'lost once':
          return attempt(sending, quick_ms, RETRIES, true);
        case 'late':
          return attempt(sending, chance().between(SLOW_MS, LATE_MS), RETRIES);
        case 'slow':
          return attempt(sending, chance().between(SLOWEST_MS, SLOW_MS), RETRIES);
        case 'twice':
          attempt(sending, chance().between(FASTEST_MS, SLOW_MS), RETRIES);
          break;
        case 'forged first':
          attempt(lieAbout(sending), FASTEST_MS, 0);
      }
      attempt(sending, quick_ms, RETRIES);
    },
    forge(order_id, merchant_id, reference, action, signed) {
      const data = { id: order_id, external_reference: reference, status: action.replace('order.', '') };
      const body = JSON.stringify({ action, type: 'order', user_id: merchant_id, data });
      const url = `http://puente.invalid/webhooks/orders?data.id=${order_id}&type=order`;
      const headers = signed ? signature(order_id, clock.now()) : { 'x-request-id': 'forged' };
      attempt({ url, body, headers, order_id, action, from: 'forged' }, FASTEST_MS, 0);
    },
    resend(nth) {
      const old = sent.at(nth % Math.max(1, sent.length));
      if (old !== undefined) attempt({ ...old, from: 'again' }, FASTEST_MS, 0);
    },
    reset(next) {
      random = next;
      sent = [];
      pending = 0;
      mail.log = [];
      mail.armed = [];
    },
  };
  return mail;
}

function sendingOf({ url, body, headers, subject, action }: PostedLetter): Sending {
  return { url, body, headers, order_id: subject, action, from: 'theirs' };
}

/** A false webhook, without a valid signature. */
function lieAbout(sending: Sending): Sending {
  const action = sending.action === 'order.processed' ? 'order.canceled' : 'order.processed';
  const body = JSON.stringify({ ...JSON.parse(sending.body), action });
  return {
    ...sending,
    body,
    action,
    headers: { 'x-request-id': 'forged', 'x-signature': 'ts=1,v1=00' },
    from: 'forged',
  };
}

/** Signed by an attacker with the secret: even then a webhook is only a hint. */
function signature(order_id: string, at: number): Record<string, string> {
  const manifest = `id:${order_id.toLowerCase()};request-id:forged;ts:${at};`;
  const v1 = createHmac('sha256', WEBHOOK_SECRET).update(manifest).digest('hex');
  return { 'x-request-id': 'forged', 'x-signature': `ts=${at},v1=${v1}` };
}
