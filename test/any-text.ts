/** Any text for property tests, of ASCII and its dangerous words (`__proto__`) or of all code points. */
import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };
const codePoint = fc
  .nat(0x10ffff - SURROGATES.count)
  .map((index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count));

/** As fast-check's unit `binary`, which first lists all 1.1 million code points: 2 s in each process. */
export function anyText(limits: { minLength?: number; maxLength?: number; size?: 'small' } = {}): fc.Arbitrary<string> {
  return fc.oneof(fc.string({ unit: 'binary-ascii', ...limits }), fc.string({ unit: codePoint, ...limits }));
}
