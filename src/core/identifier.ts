/** Ids that Puente mints. */

/** What one takes; the version and the variant overwrite six bits of it. */
export const RANDOM_BYTES = 10;

/**
 * A UUID version 7: time-ordered, so that the index stays dense (`performance.md`), and a lower-case UUID as legacy ids are.
 * @param now epoch ms; @param random `RANDOM_BYTES` of them; of more the first are used.
 */
export function uuidV7(now: number, random: Uint8Array): string {
  const time = now.toString(16).padStart(12, '0');
  const bytes = Buffer.from(random.subarray(0, RANDOM_BYTES));
  bytes[0] = (bytes.readUInt8(0) & 0x0f) | 0x70;
  bytes[2] = (bytes.readUInt8(2) & 0x3f) | 0x80;
  const tail = bytes.toString('hex');
  return `${time.slice(0, 8)}-${time.slice(8)}-${tail.slice(0, 4)}-${tail.slice(4, 8)}-${tail.slice(8, 20)}`;
}
