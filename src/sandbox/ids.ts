/** Ids of orders, payments and refunds: a prefix and a ULID (`orders-api.md` §1.4). */
import type { World } from './world.ts';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_LETTERS = 10;
const RANDOM_LETTERS = 16;

/** A ULID: 10 letters of time, which ids made together share, and 16 random ones. */
export function newUlid(world: World): string {
  let time = world.clock.now();
  let text = '';
  for (let index = 0; index < TIME_LETTERS; index++) {
    text = CROCKFORD.charAt(time % 32) + text;
    time = Math.floor(time / 32);
  }
  for (let index = 0; index < RANDOM_LETTERS; index++) text += CROCKFORD.charAt(Math.floor(world.random() * 32));
  return text;
}

/** `ORD` and 26 characters; `ORDTST` for orders of test credentials, where the settings make such orders (`orders-api.md` §1.4). */
export function isOrderId(text: string, { order_ids, order_id_letters }: World['settings']): boolean {
  const [, suffix = ''] = (order_ids === 'ORD' ? /^ORD(.*)$/ : /^ORD(?:TST)?(.*)$/).exec(text) ?? [];
  return (order_id_letters === 'alphanumeric' ? /^[0-9A-Za-z]{26}$/ : /^[0-9A-HJKMNP-TV-Z]{26}$/).test(suffix);
}
