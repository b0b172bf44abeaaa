/** The body of a legacy request: JSON of any content type, compressed or not (`docs/architecture.md` Decision 12). */
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { decodeUtf8, type Json, parseJson } from './json.ts';

/** The fault of a body; each is an error of every family's catalogue. */
export type BodyFault = 'too_large' | 'unsupported_media' | 'bad_json';
type ReadBody = { value: Json; fault?: undefined } | { value?: undefined; fault: BodyFault };

/** Types with another syntax than JSON. A form is not among them: `curl -d` sends JSON as a form. */
const OTHER_SYNTAX = /^(?:multipart|image|audio|video|font)\/|[/+](?:xml|yaml|csv|zip|pdf|protobuf|msgpack|cbor)$/;
/** Character sets that are no superset of ASCII: two readers would read two texts (`test/faults/README.md` F73). */
const NOT_ASCII = /^(?:utf-?7|utf-?16|utf-?32|ucs-?[24]|unicode|iso-10646|iso-2022|hz|ebcdic|cp037|ibm037)/;

/**
 * The content type does not matter unless it names another syntax: vendor samples, .NET and Spring send JSON as a form
 * or as plain text.
 * @param headers by lower-case name.
 * @param limit_bytes of the uncompressed body; nothing beyond it is decompressed.
 */
export function readLegacyBody(
  bytes: Uint8Array,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  limit_bytes: number,
): ReadBody {
  if (isOtherSyntax(String(headers['content-type'] ?? ''))) return { fault: 'unsupported_media' };
  const plain = unpacked(bytes, String(headers['content-encoding'] ?? ''), limit_bytes);
  if (typeof plain === 'string') return { fault: plain };
  try {
    return { value: parseJson(decodeText(plain)) };
  } catch {
    return { fault: 'bad_json' };
  }
}

/** True for a type, or a character set, in which the bytes of JSON text would mean something else. */
export function isOtherSyntax(content_type: string): boolean {
  const [media = '', ...parameters] = content_type.toLowerCase().split(';');
  if (OTHER_SYNTAX.test(media.trim())) return true;
  return parameters.some((part) => {
    const [name = '', value = ''] = part.split('=', 2);
    return name.trim() === 'charset' && NOT_ASCII.test(value.trim().replace(/^"/, ''));
  });
}

/** A body compressed once with gzip, or not at all (`test/faults/README.md` F66). */
function unpacked(bytes: Uint8Array, content_encoding: string, limit_bytes: number): Uint8Array | BodyFault {
  const encoding = content_encoding.trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return bytes;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') return 'unsupported_media';
  try {
    return gunzipSync(bytes, { maxOutputLength: limit_bytes });
  } catch (error) {
    return error instanceof RangeError ? 'too_large' : 'bad_json';
  }
}

/** UTF-8, else Windows-1252, in which every byte is a character: Windows tills use it and name no character set. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes);
  } catch {
    return codePage.decode(bytes);
  }
}
const codePage = new TextDecoder('windows-1252');

/** Escapes may be Windows-1252 too: `Caf%E9` and `Caf%C3%A9` are the same word. @param query without `?`. */
export function readQuery(query: string): URLSearchParams {
  return new URLSearchParams(
    query.replaceAll(/(?:%[89a-f][0-9a-f])+/gi, (run) =>
      encodeURIComponent(decodeText(Buffer.from(run.replaceAll('%', ''), 'hex'))),
    ),
  );
}

// Request headers with a meaning in a legacy call of any family; keys are lower-case.

/** `docs/field-notes.md` Point §1, header table; `docs/field-notes.md` QR §1.1. */
export const legacyHeaders = z.object({
  'x-platform-id': z.string().optional(),
  'x-integrator-id': z.string().optional(),
  'x-corporation-id': z.string().optional(),
  'x-product-id': z.string().optional(),
  'x-tracking-id': z.string().optional(),
  'x-test-scope': z.string().optional(),
  'x-idempotency-key': z.string().optional(),
  'x-ttl-store-preference': z.string().optional(),
});
