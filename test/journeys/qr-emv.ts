/** Reads the text of a QR code as a wallet does: EMVCo fields and their checksum, written from the public specification. */

/** By tag, two digits; a value of one field may be read again for its own fields. */
type EmvFields = ReadonlyMap<string, string>;

/** @throws Error unless the text is fields from its first letter to its last, the checksum is the last one, and holds. */
export function readCode(text: string): EmvFields {
  const fields = readFields(text);
  if ([...fields.keys()].at(-1) !== '63') throw new Error('The checksum is not the last field');
  const covered = text.slice(0, -4);
  const sum = crc16(covered).toString(16).toUpperCase().padStart(4, '0');
  if (fields.get('63') !== sum) throw new Error(`The checksum says ${fields.get('63')}, the text sums up to ${sum}`);
  return fields;
}

/** Tag in two digits, length in two, value. */
export function readFields(text: string): EmvFields {
  const fields = new Map<string, string>();
  for (let at = 0; at < text.length; ) {
    const head = /^(\d\d)(\d\d)$/.exec(text.slice(at, at + 4));
    if (head === null) throw new Error(`No field begins at letter ${at}`);
    const [, tag = '', length = ''] = head;
    const value = text.slice(at + 4, at + 4 + Number(length));
    if (value.length !== Number(length)) throw new Error(`Field ${tag} ends too early`);
    if (fields.has(tag)) throw new Error(`Field ${tag} comes twice`);
    fields.set(tag, value);
    at += 4 + value.length;
  }
  return fields;
}

/** Polynomial 0x1021, beginning with 0xFFFF, nothing reflected. */
function crc16(text: string): number {
  let sum = 0xffff;
  for (const byte of new TextEncoder().encode(text)) {
    for (let mask = 0x80; mask > 0; mask >>= 1) {
      const carried = (sum & 0x8000) !== 0;
      sum = (sum << 1) & 0xffff;
      if (carried !== ((byte & mask) !== 0)) sum ^= 0x1021;
    }
  }
  return sum;
}
