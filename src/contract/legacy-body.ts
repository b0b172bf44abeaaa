/** Reads the body of a legacy request: JSON as tills send it, under whatever type, packed or not (`docs/architecture.md` Decision 12). */
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { decodeUtf8, type Json, parseJson } from './json.ts';

/** What is wrong with a body; each is an error of every family's catalogue. */
export type BodyFault = 'too_large' | 'unsupported_media' | 'bad_json';
export type ReadBody = { value: Json; fault?: undefined } | { value?: undefined; fault: BodyFault };

/** Types whose syntax is another one than JSON's. A form is not among them: `curl -d` sends JSON as one. */
const OTHER_SYNTAX = /^(?:multipart|image|audio|video|font)\/|[/+](?:xml|yaml|csv|zip|pdf|protobuf|msgpack|cbor)$/;
/** Character sets in which the bytes of ASCII are something else: two readers would read two texts (`test/faults/README.md` F73). */
const NOT_ASCII = /^(?:utf-?7|utf-?16|utf-?32|ucs-?[24]|unicode|iso-10646|iso-2022|hz|ebcdic|cp037|ibm037)/;

/**
 * Parses the body of a legacy request. The content type does not matter unless it names another syntax: vendor samples, .NET
 * and Spring send JSON as a form or as plain text.
 * @param headers by lower-case name.
 * @param limit_bytes most that a packed body may grow to; nothing beyond it is unpacked.
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

/** True for a type, or a character set, in which the bytes of JSON text would be read as something else. */
export function isOtherSyntax(content_type: string): boolean {
  const [media = '', ...parameters] = content_type.toLowerCase().split(';');
  if (OTHER_SYNTAX.test(media.trim())) return true;
  return parameters.some((part) => {
    const [name = '', value = ''] = part.split('=', 2);
    return name.trim() === 'charset' && NOT_ASCII.test(value.trim().replace(/^"/, ''));
  });
}

/** A body that was packed once with gzip, or not at all (`test/faults/README.md` F66). */
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

/**
 * Text of bytes that may be in the code page of a machine: UTF-8 where they are, else Windows-1252, in which every byte is a
 * letter. Tills of Windows write the latter and name no character set.
 */
export function decodeText(bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes);
  } catch {
    return codePage.decode(bytes);
  }
}
const codePage = new TextDecoder('windows-1252');

/**
 * The parameters of a query, whose escapes may be of that code page too: `Caf%E9` and `Caf%C3%A9` are the same word.
 * @param query what follows the question mark, as it came.
 */
export function readQuery(query: string): URLSearchParams {
  return new URLSearchParams(
    query.replaceAll(/(?:%[89a-f][0-9a-f])+/gi, (run) =>
      encodeURIComponent(decodeText(Buffer.from(run.replaceAll('%', ''), 'hex'))),
    ),
  );
}

// Request headers that mean something on a legacy call of any family; keys are lower-case.

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
