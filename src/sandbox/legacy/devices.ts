/** Devices: the list, and the change of operating mode. Source: `legacy-point.md` §1.1, §1.2. */
import { operatingModes, pointErrors } from '../../contract/legacy-point.ts';
import type { Terminal } from '../cast.ts';
import { deviceOf, type Handler, jsonObject, refusal, single } from './call.ts';

/** Largest and usual page; the orders API clamps to the same number (`orders-api.md` §5). */
const MAX_PAGE = 50;

/** `GET /point/integration-api/devices`. */
export const listDevices: Handler = ({ world, merchant, query }) => {
  const store_id = single(query, 'store_id');
  const pos_id = single(query, 'pos_id');
  if (pos_id !== null && !/^\d{1,20}$/.test(pos_id)) throw refusal(pointErrors.invalid_property, 'pos_id');
  const limit = Math.min(Math.max(pageNumber(query, 'limit', MAX_PAGE), 1), MAX_PAGE);
  const offset = pageNumber(query, 'offset', 0);
  const matching = world
    .terminals(merchant.user_id)
    .filter(({ pos }) => store_id === null || pos?.store_id === store_id)
    .filter(({ pos }) => pos_id === null || String(pos?.id ?? 0) === pos_id);
  return {
    status: 200,
    body: {
      devices: matching.slice(offset, offset + limit).map(shown),
      paging: { total: matching.length, limit, offset },
    },
  };
};

/** `PATCH /point/integration-api/devices/{device}` `{"operating_mode": "PDV"}`. */
export const changeMode: Handler = (call) => {
  const wanted = jsonObject(call.body).operating_mode;
  if (wanted === undefined) throw refusal(pointErrors.missing_property, 'operating_mode');
  const mode = operatingModes.find((name) => name === wanted);
  if (mode === undefined) throw refusal(pointErrors.invalid_property, 'operating_mode');
  const terminal = deviceOf(call, pointErrors.not_device_owner);
  if (terminal.pos === null) throw refusal(pointErrors.forbidden);
  if (mode === 'PDV' && rivalInPdv(call.world.terminals(call.merchant.user_id), terminal)) {
    throw refusal(pointErrors.device_in_pos);
  }
  terminal.operating_mode = mode;
  return { status: 200, body: { operating_mode: mode } };
};

/** Only one terminal per point of sale may be in PDV (`interface.md` Terminal). */
function rivalInPdv(terminals: readonly Terminal[], terminal: Terminal): boolean {
  return terminals.some(
    (other) => other !== terminal && other.pos?.id === terminal.pos?.id && other.operating_mode === 'PDV',
  );
}

/** `store_id` null rather than empty: an empty text breaks the PHP SDK (`legacy-point.md` §4.2). The old API knows two modes. */
function shown(terminal: Terminal): object {
  return {
    id: terminal.id,
    pos_id: terminal.pos?.id ?? 0,
    store_id: terminal.pos?.store_id ?? null,
    external_pos_id: terminal.pos?.external_id ?? '',
    operating_mode: terminal.operating_mode === 'PDV' ? 'PDV' : 'STANDALONE',
  };
}

function pageNumber(query: URLSearchParams, name: string, missing: number): number {
  const text = single(query, name);
  if (text === null) return missing;
  if (!/^\d{1,9}$/.test(text)) throw refusal(pointErrors.invalid_property, name);
  return Number(text);
}
