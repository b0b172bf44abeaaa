/** Ids that Puente mints. */
import { randomFillSync } from 'node:crypto';

/** What one takes; the version and the variant overwrite six bits of it. */
export const RANDOM_BYTES = 10;

/**
 * A UUID version 7: time-ordered, so that the index stays dense (`performance.md`), and a lower-case UUID as legacy ids are.
 * @param now epoch ms; @param random `RANDOM_BYTES` of them; of more the first are used.
 */
export function uuidV7(now: number, random: Uint8Array): string {
  // In two parts: the engine writes small integers in half the time.
  const high = Math.floor(now / LOW);
  const low = now - high * LOW;
  const at = (index: number): string => HEX[random[index] ?? 0] ?? '';
  const version = HEX[((random[0] ?? 0) & 0x0f) | 0x70];
  const variant = HEX[((random[2] ?? 0) & 0x3f) | 0x80];
  const node = at(4) + at(5) + at(6) + at(7) + at(8) + at(9);
  return `${hex(high, 8)}-${hex(low, 4)}-${version}${at(1)}-${variant}${at(3)}-${node}`;
}

/** The time has 48 bits, of which 16 stand in a part of their own. */
const LOW = 0x1_00_00;

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

/** Every call has an id: from this list one is made in a third of the time that a buffer takes. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

// Random bytes for ids and nonces, which every call takes several of: asking the system for a few at a time costs
// more than they do.

const POOL_BYTES = 4_096;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/**
 * Bytes of the system's generator, each handed out once. For what is shown or stored beside what it protects, never for a
 * key: what was taken stays in memory until the pool is filled again.
 * @param count at most a pool, 4096.
 */
export function takeRandom(count: number): Uint8Array {
  if (used + count > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return pool.slice(used - count, used);
}
