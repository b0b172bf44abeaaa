/** Reading request bodies: bytes as they came, whatever the content type says, then strict JSON. */
import express, { type Request, type RequestHandler } from 'express';
import { decodeUtf8, type Json, parseJson } from '../contract/json.ts';
import { isOtherSyntax } from '../contract/legacy-body.ts';

/** No documented body comes near this; a larger one is a mistake. */
const MAX_BODY_BYTES = 256 * 1024;

/** Bodies on GET and DELETE are read too, and ignored by their handlers. */
export const readBody: RequestHandler = express.raw({ type: () => true, limit: MAX_BODY_BYTES });

/** What the legacy families read: JSON under any type but another format's own. */
export const readLegacyBody: RequestHandler[] = [
  (request, _response, next) =>
    next(
      isOtherSyntax(request.headers['content-type'] ?? '')
        ? Object.assign(new Error('no JSON'), { status: 415 })
        : undefined,
    ),
  readBody,
];

/** The bytes of the body; none for a missing one. */
export function bodyBytes(request: Request): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

/** @returns undefined when the body is empty, null-safe `{ value }` when it parses, and `{ broken }` when it is no JSON. */
export function bodyJson(request: Request): { value: Json } | { broken: true } | undefined {
  const bytes = bodyBytes(request);
  if (bytes.length === 0) return undefined;
  try {
    return { value: parseJson(decodeUtf8(bytes)) };
  } catch {
    return { broken: true }; // what is wrong with it is the caller's to find out
  }
}
