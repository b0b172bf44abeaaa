/** `/terminals/v1`: the list, and the change of operating mode with every documented refusal. Source: `docs/field-notes.md` Spec Terminal, `docs/field-notes.md` Orders §5. */

import { type Request, type Response, Router } from 'express';
import type { Json } from '../contract/json.ts';
import { type Answer, bodyJson, json, type Problem, readBody, refusal, send } from './answer.ts';
import { authenticate } from './auth.ts';
import type { Merchant, SiteId, Terminal } from './cast.ts';
import { isObject } from './order-rules.ts';
import type { World } from './world.ts';

export function terminalsRouter(world: World): Router {
  const router = Router();
  const answered =
    (story: (merchant: Merchant, request: Request) => Answer) =>
    (request: Request, response: Response): void => {
      const caller = authenticate(world, request);
      send(response, caller.refused ?? story(caller.merchant, request));
    };
  router.get(
    '/terminals/v1/list',
    answered((merchant, request) => listTerminals(world, merchant, request)),
  );
  router.patch(
    '/terminals/v1/setup',
    readBody,
    answered((merchant, request) => setUpTerminal(world, merchant, request)),
  );
  return router;
}

/** Page size: 1 to 50, 50 when nothing is said; more is clamped, not refused (`docs/field-notes.md` Orders §5). */
const MAX_LIMIT = 50;

/** Only 401 and 500 are documented, so odd filters and pages are taken for absent ones. */
function listTerminals(world: World, merchant: Merchant, request: Request): Answer {
  const query = new URL(request.originalUrl, 'http://sandbox').searchParams;
  const store_id = query.get('store_id');
  const pos_id = query.get('pos_id');
  const limit = Math.min(Math.max(wholeNumber(query.get('limit')) ?? MAX_LIMIT, 1), MAX_LIMIT);
  const offset = wholeNumber(query.get('offset')) ?? 0;
  const found = world
    .terminals(merchant.user_id)
    .filter((terminal) => store_id === null || terminal.pos?.store_id === store_id)
    .filter((terminal) => pos_id === null || String(terminal.pos?.id) === pos_id);
  return json(200, {
    data: { terminals: found.slice(offset, offset + limit).map(renderTerminal) },
    paging: { total: found.length, offset, limit },
  });
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function renderTerminal(terminal: Terminal): object {
  return {
    id: terminal.id,
    pos_id: terminal.pos?.id ?? 0,
    store_id: terminal.pos?.store_id ?? '',
    external_pos_id: terminal.pos?.external_id ?? '',
    operating_mode: terminal.operating_mode,
  };
}

function setUpTerminal(world: World, merchant: Merchant, request: Request): Answer {
  if (!merchant.site.has_terminals) return refusal(unsupportedSite);
  const body = bodyJson(request);
  const wanted = body !== undefined && 'value' in body ? readSetup(body.value) : { problem: invalidPayload };
  if ('problem' in wanted) return refusal(wanted.problem);
  const terminal = world.terminal(merchant.user_id, wanted.id);
  if (terminal === undefined) return refusal({ status: 404, code: 'not_found', message: 'Terminal not found' });
  if (!supportedModels[merchant.site.site_id].some((model) => terminal.id.startsWith(`${model}__`))) {
    return refusal({
      status: 403,
      code: 'terminal_not_allowed_action',
      message: 'The action is not allowed for the terminal model',
    });
  }
  const { pos } = terminal;
  if (pos === null)
    return refusal({
      status: 403,
      code: 'store_pos_not_found',
      message: 'The terminal has no store and point of sale',
    });
  const others = world.terminals(merchant.user_id).filter((other) => other !== terminal && other.pos === pos);
  if (wanted.operating_mode === 'PDV' && others.some((other) => other.operating_mode === 'PDV'))
    return refusal(onlyOneInPdv);
  terminal.operating_mode = wanted.operating_mode;
  return json(200, { terminals: [wanted] });
}

interface Setup {
  id: string;
  operating_mode: 'PDV' | 'STANDALONE';
}

function readSetup(body: Json): Setup | { problem: Problem } {
  if (!isObject(body)) return { problem: invalidPayload };
  const unknown = Object.keys(body).filter((name) => name !== 'terminals');
  if (unknown.length > 0) return { problem: unsupported(unknown) };
  const { terminals } = body;
  if (terminals === undefined) return { problem: required(['terminals']) };
  const [only] = Array.isArray(terminals) && terminals.length === 1 ? terminals : [];
  if (!isObject(only)) return { problem: invalidPayload };
  const strange = Object.keys(only).filter((name) => name !== 'id' && name !== 'operating_mode');
  if (strange.length > 0) return { problem: unsupported(strange.map((name) => `terminals[0].${name}`)) };
  const missing = ['id', 'operating_mode'].filter((name) => only[name] === undefined);
  if (missing.length > 0) return { problem: required(missing.map((name) => `terminals[0].${name}`)) };
  const { id, operating_mode } = only;
  if (typeof id !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(id)) return { problem: badValue('terminals[0].id') };
  if (operating_mode !== 'PDV' && operating_mode !== 'STANDALONE')
    return { problem: badValue('terminals[0].operating_mode') };
  return { id, operating_mode };
}

/** Models whose mode can be set, by country (`docs/field-notes.md` Orders §5). */
const supportedModels: Readonly<Record<SiteId, readonly string[]>> = {
  MLA: ['PAX_A910', 'NEWLAND_N950', 'INGENICO_MOVE2500'],
  MLB: ['PAX_A910', 'NEWLAND_N950', 'INGENICO_MOVE2500', 'GERTEC_MP35P'],
  MLM: ['PAX_A910', 'NEWLAND_N950'],
  MLC: ['PAX_A910', 'NEWLAND_N950'],
  MLU: [], // never reached: the site is refused first
};

/** Terminals are only in Argentina, Brazil, Chile and Mexico (`docs/field-notes.md` Orders §5). */
export const unsupportedSite: Problem = {
  status: 400,
  code: 'unsupported_site',
  message: 'The country of the account is not supported',
};
const invalidPayload: Problem = { status: 400, code: 'invalid_payload', message: 'The payload is not valid' };
/** The only error without a code (`docs/field-notes.md` Orders §5). */
const onlyOneInPdv: Problem = { status: 412, message: 'Only one pos-store with PDV mode ON or SUSPENDED is allowed' };

function unsupported(details: string[]): Problem {
  return {
    status: 400,
    code: 'unsupported_properties',
    message: 'The following properties are not supported',
    details,
  };
}

function required(details: string[]): Problem {
  return { status: 400, code: 'required_properties', message: 'The following properties are required', details };
}

function badValue(path: string): Problem {
  return { status: 400, code: 'property_value', message: 'The following value is not valid', details: [path] };
}
