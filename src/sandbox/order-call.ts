/** What every call on an order reads and refuses in the same way: path id, key, replays, other merchants' orders. */
import { hash } from 'node:crypto';
import type { Request } from 'express';
import { type Answer, type Problem, refusal } from './answer.ts';
import { bodyBytes } from './body.ts';
import type { Merchant } from './cast.ts';
import type { KeyEntry } from './keys.ts';
import type { Order } from './order.ts';
import type { World } from './world.ts';

/** Same key again on cancel or refund: the saved answer, or 409; a key of anything else is always a conflict. */
export function replayAction(known: KeyEntry, mark: string, repeated: 'saved' | 'conflict'): Answer {
  const isSame = known.fingerprint === null || known.fingerprint === mark;
  return isSame && repeated === 'saved' ? known.answer : refusal(keyAlreadyUsed);
}

/** @returns null for a missing or empty `X-Idempotency-Key`. */
export function idempotencyKey(request: Request): string | null {
  return request.get('x-idempotency-key') || null;
}

/** Same operation and same bytes, same mark. */
export function fingerprint(request: Request): string {
  return `${request.path} ${hash('sha256', bodyBytes(request))}`;
}

export function pathId(request: Request): string {
  const { id } = request.params;
  return typeof id === 'string' ? id : '';
}

/** Orders of other merchants are unknown. */
export function findOrder(world: World, merchant: Merchant, id: string): Order | undefined {
  const order = world.orders.get(id);
  return order?.merchant === merchant ? order : undefined;
}

export const missingKey: Problem = {
  status: 400,
  code: 'empty_required_header',
  message: 'A required header is empty',
  details: ['X-Idempotency-Key'],
};
export const keyAlreadyUsed: Problem = {
  status: 409,
  code: 'idempotency_key_already_used',
  message: 'The idempotency key was already used',
};
export const orderNotFound: Problem = { status: 404, code: 'order_not_found', message: 'Order not found.' };

/**
 * The spelling depends on the setting `error_codes` (`orders-api.md` §1.6). Documented are two, one for each type of
 * order; a bad id has no type, so a merchant who can only have QR orders gets theirs.
 */
export function badOrderId(world: World, merchant: Merchant): Problem {
  const isPoint = world.settings.error_codes === 'documented' && merchant.site.has_terminals;
  const code = isPoint ? 'bad_request' : 'invalid_path_param';
  return { status: 400, code, message: 'path param order id is invalid' };
}
