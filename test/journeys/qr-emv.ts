/** Reads the text of a QR code as a wallet does: EMVCo fields and checksum, written from the public specification. */

/** Values by two-digit tag; a value may hold fields of its own. */
type EmvFields = ReadonlyMap<string, string>;

/** @throws Error unless the whole text is fields and ends in a correct checksum. */
export function readCode(text: string): EmvFields {
  const fields = readFields(text);
  if ([...fields.keys()].at(-1) !== '63') throw new Error('The checksum is not the last field');
  const covered = text.slice(0, -4);
  const sum = crc16(covered).toString(16).toUpperCase().padStart(4, '0');
  if (fields.get('63') !== sum) throw new Error(`The checksum says ${fields.get('63')}, the text sums up to ${sum}`);
  return fields;
}

/** A field is a tag of two digits, a length of two digits, and a value. */
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

/** CRC-16 with polynomial 0x1021, initial value 0xFFFF, no reflection. */
function crc16(text: string): number {
  let sum = 0xffff;
  for (const byte of new TextEncoder().encode(text)) {
    for (let mask = 0x80; mask > 0; mask >>= 1) {
      const proxied = (sum & 0x8000) !== 0;
      sum = (sum << 1) & 0xffff;
      if (proxied !== ((byte & mask) !== 0)) sum ^= 0x1021;
    }
  }
  return sum;
}
