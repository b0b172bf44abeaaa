/** A till's connection that records answers, repeats requests whose answer was lost, and never throws. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, type CallParts, send } from '../http.ts';
import type { Chance } from '../make-capture/chance.ts';
import { type Connection, newCounts } from '../make-capture/counter.ts';
import {
  isCreate,
  isLost,
  isObject,
  isRefund,
  note,
  noteCall,
  noteRefund,
  type Shop,
  type TillLog,
} from './till-log.ts';

/** A till stops waiting after this: the vendor advises 10 s, and Puente always answers earlier. */
const PATIENCE_MS = 15_000;
/** A cashier looks at the screen for a moment before pressing the button again. */
const AGAIN_AFTER_MS = 300;
/** Share of lost creates that a cashier repeats. */
const AGAIN_SHARE = 0.7;
const MOST_REFUND_TRIES = 6;

export interface Doors {
  public_url: string;
  sandbox_url: string;
  /** The payable behind a dynamic code; null when upstream has none. */
  payableOf(qr_data: string): Promise<string | null>;
}

export function loggedConnection(log: TillLog, doors: Doors, shop: Shop, chance: Chance): Connection {
  const { merchant, site } = shop;
  const authorization = `Bearer APP_USR-4004001-112026-00000000000000000000000000000a01-${merchant}`;
  /** The last dynamic code that this till was answered, by its order id. */
  const codes = new Map<string, string>();
  const once = async (operation: string, method: string, target: string, parts: CallParts): Promise<Answer> => {
    const headers = { authorization, ...parts.headers };
    const began = performance.now();
    const answer = await sendOrLose(method, doors.public_url + target, { ...parts, headers });
    keepCode(codes, answer);
    noteCall(log, operation, answer.status, performance.now() - began);
    note(log, shop, { operation, target, body: parts.body, answer, began, ended: performance.now() });
    return answer;
  };
  return {
    merchant,
    site,
    counts: newCounts(),
    async call(operation, method, target, parts = {}) {
      const sent = { ...parts, body: ownUrl(parts.body, shop.notice_url) };
      let answer = await once(operation, method, target, sent);
      for (let tries = 1; asksAgain(operation, answer.status, tries, chance); tries++) {
        await pause(AGAIN_AFTER_MS * tries);
        answer = await once(operation, method, target, sent);
      }
      if (isRefund(operation)) noteRefund(log, shop, { operation, target, answer });
      return readable(answer);
    },
    act: async (path) =>
      sendOrLose('POST', `${doors.sandbox_url}/_sandbox${await scanned(path, codes, doors)}`, { body: {} }),
  };
}

/** The script pays by the till's order id, which Puente made; a buyer has only the code. */
async function scanned(path: string, codes: ReadonlyMap<string, string>, doors: Doors): Promise<string> {
  const [, id = '', action = ''] = /^\/payables\/([^/]+)\/(\w+)$/.exec(path) ?? [];
  const code = codes.get(id);
  const payable = code === undefined ? null : await doors.payableOf(code);
  return payable === null ? path : `/payables/${payable}/${action}`;
}

function keepCode(codes: Map<string, string>, { body }: Answer): void {
  if (!isObject(body) || typeof body.in_store_order_id !== 'string' || typeof body.qr_data !== 'string') return;
  codes.clear();
  codes.set(body.in_store_order_id, body.qr_data);
}

/** A sale may be given up; a refund is repeated until its outcome is known. */
function asksAgain(operation: string, status: number, tries: number, chance: Chance): boolean {
  if (isRefund(operation)) return tries < MOST_REFUND_TRIES && (isLost(status) || (tries > 1 && status === 409));
  return isCreate(operation) && isLost(status) && tries === 1 && chance.is(AGAIN_SHARE);
}

/** The tills' scripts treat a lost answer as an error status. */
function readable(answer: Answer): Answer {
  return answer.status === 0 ? { status: 599, body: {} } : answer;
}

/** The scripts use a placeholder URL; this replaces it by the shop's receiver. */
function ownUrl(body: unknown, notice_url: string): unknown {
  return isObject(body) && 'notification_url' in body ? { ...body, notification_url: notice_url } : body;
}

/** Status 0 when no whole answer came. */
export function sendOrLose(method: string, url: string, parts?: CallParts): Promise<Answer> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  return send(method, url, parts, { signal }).catch(() => ({ status: 0, body: {} }));
}
