/** `/terminals/v1`: the list and the operating mode. Source: `docs/field-notes.md` Spec Terminal, Orders §5. */

import { TERMINAL_ID } from '../contract/identifiers.ts';
import { isObject, type Json } from '../contract/json.ts';
import type { SiteId } from '../contract/sites.ts';
import { json, type Problem, problem, refusal } from './answer.ts';
import { bodyJson, type Handler, type Rows } from './call.ts';
import { problemOf } from './order-rules.ts';
import type { Terminal } from './records.ts';
import type { World } from './world.ts';

/** Page size 1 to 50, default 50; a larger one is clamped, not refused (`docs/field-notes.md` Orders §5). */
const MAX_LIMIT = 50;

/** Only 401 and 500 are documented, so invalid filters and pages count as missing. */
const listTerminals: Handler = ({ world, merchant, query }) => {
  const store_id = query.get('store_id');
  const pos_id = query.get('pos_id');
  const limit = Math.min(Math.max(wholeNumber(query.get('limit')) ?? MAX_LIMIT, 1), MAX_LIMIT);
  const offset = wholeNumber(query.get('offset')) ?? 0;
  const found = world
    .terminalsOf(merchant.user_id)
    .filter((terminal) => store_id === null || world.posOf(terminal)?.store_id === store_id)
    .filter((terminal) => pos_id === null || String(terminal.pos_id) === pos_id);
  return json(200, {
    data: { terminals: found.slice(offset, offset + limit).map((terminal) => renderTerminal(world, terminal)) },
    paging: { total: found.length, offset, limit },
  });
};

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function renderTerminal(world: World, terminal: Terminal): object {
  const pos = world.posOf(terminal);
  return {
    id: terminal.id,
    pos_id: pos?.id ?? 0,
    store_id: pos?.store_id ?? '',
    external_pos_id: pos?.external_id ?? '',
    operating_mode: terminal.operating_mode,
  };
}

const setUpTerminal: Handler = ({ world, merchant, body }) => {
  if (!merchant.site.has_terminals) return refusal(unsupportedSite);
  const read = bodyJson(body);
  const wanted = read !== undefined && 'value' in read ? readSetup(read.value) : { problem: invalidPayload };
  if ('problem' in wanted) return refusal(wanted.problem);
  const terminal = world.terminal(merchant.user_id, wanted.id);
  if (terminal === undefined) return refusal(problem(404, 'not_found', 'Terminal not found'));
  if (!supportedModels[merchant.site.site_id].some((model) => terminal.id.startsWith(`${model}__`)))
    return refusal(modelNotAllowed);
  if (terminal.pos_id === null) return refusal(withoutTill);
  if (wanted.operating_mode === 'PDV' && hasRivalInPdv(world, terminal)) return refusal(onlyOneInPdv);
  terminal.operating_mode = wanted.operating_mode;
  return json(200, { terminals: [wanted] });
};

/** Only one terminal per point of sale may be in PDV (`docs/field-notes.md` Spec Terminal). */
export function hasRivalInPdv(world: World, { id, merchant_id, pos_id }: Terminal): boolean {
  return world
    .terminalsOf(merchant_id)
    .some((other) => other.id !== id && other.pos_id === pos_id && other.operating_mode === 'PDV');
}

interface Setup {
  id: string;
  operating_mode: 'PDV' | 'STANDALONE';
}

function readSetup(body: Json): Setup | { problem: Problem } {
  const fault = (code: Parameters<typeof problemOf>[0], details: string[]) => ({ problem: problemOf(code, details) });
  if (!isObject(body)) return { problem: invalidPayload };
  const unknown = Object.keys(body).filter((name) => name !== 'terminals');
  if (unknown.length > 0) return fault('unsupported_properties', unknown);
  const { terminals } = body;
  if (terminals === undefined) return fault('required_properties', ['terminals']);
  const [only] = Array.isArray(terminals) && terminals.length === 1 ? terminals : [];
  if (!isObject(only)) return { problem: invalidPayload };
  const pathOf = (name: string): string => `terminals[0].${name}`;
  const strange = Object.keys(only).filter((name) => name !== 'id' && name !== 'operating_mode');
  if (strange.length > 0) return fault('unsupported_properties', strange.map(pathOf));
  const missing = ['id', 'operating_mode'].filter((name) => only[name] === undefined);
  if (missing.length > 0) return fault('required_properties', missing.map(pathOf));
  const { id, operating_mode } = only;
  if (typeof id !== 'string' || !TERMINAL_ID.test(id)) return fault('property_value', [pathOf('id')]);
  if (operating_mode !== 'PDV' && operating_mode !== 'STANDALONE')
    return fault('property_value', [pathOf('operating_mode')]);
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
export const unsupportedSite = problem(400, 'unsupported_site', 'The country of the account is not supported');
const invalidPayload = problem(400, 'invalid_payload', 'The payload is not valid');
/** The only error without a code (`docs/field-notes.md` Orders §5). */
const onlyOneInPdv: Problem = { status: 412, message: 'Only one pos-store with PDV mode ON or SUSPENDED is allowed' };

const modelNotAllowed = problem(403, 'terminal_not_allowed_action', 'The action is not allowed for the terminal model');
const withoutTill = problem(403, 'store_pos_not_found', 'The terminal has no store and point of sale');

export const terminalRows: Rows<'terminals'> = [
  ['get', '/terminals/v1/list', listTerminals],
  ['patch', '/terminals/v1/setup', setUpTerminal],
];
