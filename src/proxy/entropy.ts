/** Random bytes for ids and nonces, which every call takes several of: asking the system for a few at a time costs more than they do. */
import { randomFillSync } from 'node:crypto';

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
