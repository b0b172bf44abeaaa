/** What every call at the control door reads in the same way: whose, and with which body. */
import type { Request } from 'express';
import { z } from 'zod';
import { PuenteError } from '../error.ts';
import { bodyBytes } from './answer.ts';
import type { Merchant } from './cast.ts';
import type { World } from './world.ts';

/** @throws PuenteError not_found */
export function merchantOf(world: World, request: Request): Merchant {
  const merchant = world.merchants.get(String(request.params.merchant));
  if (merchant === undefined) throw new PuenteError('not_found', `Merchant ${request.params.merchant} is unknown.`);
  return merchant;
}

/**
 * An empty body counts as `{}`. Settings have fractions and no money, so plain numbers do.
 * @throws PuenteError bad_request, naming the field.
 */
export function parse<Schema extends z.ZodType>(schema: Schema, request: Request): z.infer<Schema> {
  const parsed = schema.safeParse(plainJson(bodyBytes(request)));
  if (!parsed.success) throw new PuenteError('bad_request', z.prettifyError(parsed.error));
  return parsed.data;
}

function plainJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new PuenteError('bad_request', 'The body is not valid JSON.');
  }
}
