/** The order of finishing creates in doubt: fair between merchants, and many of one merchant while no other has any. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Loop } from '../../../src/proxy/loop.ts';
import { startCompleter } from '../../../src/proxy/sales/workers.ts';
import { BROKEN, createStand, TOKEN } from '../../proof/stand.ts';

const stand = createStand();
const PLACES = 8;
let completer: Loop;
let release: () => void;

beforeEach(async () => {
  await stand.reset();
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  stand.answers = Array.from({ length: 50 }, () => () => held.then(() => BROKEN));
  completer = startCompleter(stand.ports, PLACES, () => false, null);
});

afterEach(async () => {
  release();
  await completer.stop();
});

const due = (unit: string, merchant_id?: string) =>
  stand.link({ unit, reference_sent: `of ${unit}`, next_check_at: stand.now, ...(merchant_id ? { merchant_id } : {}) });

describe('creates in doubt of one merchant', () => {
  it('take most places while nobody else has any, and the next merchant finds one at once', async () => {
    for (let number = 0; number < 20; number++) await due(`PAX_${number}`);
    await expect.poll(() => stand.asked).toHaveLength(6);
    const other = '700100300';
    const sealed_token = stand.ports.vault.seal(TOKEN.reveal(), 'token');
    const known = { merchant_id: other, sealed_token, accepted_until: stand.now + 3_600_000, seen_at: stand.now };
    await stand.store.merchants.acceptToken({ ...known, fingerprint: 'of another' }, 'MLB');
    const first = await due('PAX_B1', other);
    const second = await due('PAX_B2', other);
    await due('PAX_B3', other);
    stand.now += 250; // the next poll
    await expect.poll(() => stand.asked).toHaveLength(PLACES);
    const keys = stand.asked.slice(6).map(({ idempotency_key }) => idempotency_key);
    expect(keys.toSorted()).toEqual([first, second].map(({ idempotency_key }) => idempotency_key).toSorted());
  });
});
