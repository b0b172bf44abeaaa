/** Tills ("points of sale"): create, list, read, change and delete. Source: `docs/field-notes.md` QR §4. */
import { isWithinCharacters } from '../../contract/identifiers.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { PuenteError } from '../../error.ts';
import { json, noContent, refuse } from '../answer.ts';
import { bodyObject, type PaymentsCall, type PaymentsHandler, paged, pageOf, type Rows } from '../call.ts';
import { newPoint } from '../cast.ts';
import { offsetDate } from '../dates.ts';
import type { PointOfSale } from '../records.ts';
import type { World } from '../world.ts';

const DEFAULT_LIMIT = 50;

const createTill: PaymentsHandler = (call) => {
  const { world, merchant } = call;
  const fields = readFields(call, rules, 'UNKNOWN_FIELD_EXCEPTION');
  if (fields.name === undefined) throw accountFault('INVALID_NAME');
  const ids = { id: world.counters.point_of_sale, merchant_id: merchant.user_id, external_id: null, store_id: '' };
  const till = newPoint(world, ids);
  applyIds(call, till, fields);
  if (till.store_id === '') throw accountFault('POS_INVALID_STORE_ID');
  applyDetails(till, fields);
  world.next('point_of_sale');
  world.points_of_sale.set(till.id, till);
  return json(world.settings.store_create_status, renderTill(world, till));
};

const changeTill: PaymentsHandler = (call) => {
  const till = tillOf(call);
  const fields = readFields(call, rules, 'UNKNOWN_FIELD_EXCEPTION');
  const changed = { ...till };
  applyDetails(changed, fields);
  applyIds(call, changed, fields);
  Object.assign(till, changed, { updated_at_ms: call.world.clock.now() });
  return json(200, renderTill(call.world, till));
};

const getTill: PaymentsHandler = (call) => json(200, renderTill(call.world, tillOf(call)));

/** An empty filter counts as missing. */
const listTills: PaymentsHandler = ({ world, merchant, query }) => {
  const page = pageOf(query, DEFAULT_LIMIT, (name) => accountFault(`INVALID_${name.toUpperCase()}`));
  const [external_id, store_id, external_store_id] = ['external_id', 'store_id', 'external_store_id'].map(
    (name) => query.get(name) || null,
  );
  if (typeof store_id === 'string' && !isNumeric(store_id)) throw accountFault('INVALID_STORE_ID');
  const found = [...world.points_of_sale.values()].filter(
    (till) =>
      till.merchant_id === merchant.user_id &&
      (!external_id || till.external_id === external_id) &&
      (!store_id || till.store_id === store_id) &&
      (!external_store_id || world.stores.get(till.store_id)?.external_id === external_store_id),
  );
  return paged(found, page, (till) => renderTill(world, till));
};

/** Terminals at the deleted till have no till afterwards. */
const deleteTill: PaymentsHandler = (call) => {
  const { id, merchant_id } = tillOf(call);
  call.world.points_of_sale.delete(id);
  for (const terminal of call.world.terminalsOf(merchant_id)) if (terminal.pos_id === id) terminal.pos_id = null;
  return noContent;
};

function tillOf({ world, merchant, path }: PaymentsCall): PointOfSale {
  const id = path('till');
  if (!isNumeric(id)) throw accountFault('INVALID_POS_ID');
  const till = world.points_of_sale.get(Number(id));
  if (till?.merchant_id !== merchant.user_id) {
    throw refuse('payments', { status: 404, error: 'not_found', message: 'Point of sale not found' });
  }
  return till;
}

/** Both ids of the store must agree; the till's own external id must be unique. */
function applyIds({ world, merchant }: PaymentsCall, till: PointOfSale, fields: JsonObject): void {
  const own = [...world.stores.values()].filter(({ merchant_id }) => merchant_id === merchant.user_id);
  const { store_id, external_store_id, external_id } = fields;
  const by_id = store_id === undefined ? undefined : own.find(({ id }) => id === String(store_id));
  if (store_id !== undefined && by_id === undefined) throw accountFault('POS_INVALID_STORE_ID');
  const by_name =
    external_store_id === undefined ? undefined : own.find((store) => store.external_id === external_store_id);
  if (external_store_id !== undefined && by_name === undefined) throw accountFault('INEXISTENT_EXTERNAL_STORE_ID');
  if (by_id !== undefined && by_name !== undefined && by_id !== by_name) {
    throw accountFault('EXTERNAL_STORE_ID_NOT_MATCH');
  }
  if (typeof external_id === 'string' && hasTwin(world, till, external_id)) {
    const message = 'The external_id is already in use';
    throw refuse('payments', { status: 409, error: 'point_of_sale_exists', message });
  }
  till.store_id = by_id?.id ?? by_name?.id ?? till.store_id;
  if (external_id !== undefined) till.external_id = external_id === null ? null : String(external_id);
}

function hasTwin(world: World, till: PointOfSale, external_id: string): boolean {
  return [...world.points_of_sale.values()].some(
    (other) => other.merchant_id === till.merchant_id && other.id !== till.id && other.external_id === external_id,
  );
}

function applyDetails(details: PointOfSale, { name, fixed_amount, category, url }: JsonObject): void {
  if (name !== undefined) details.name = String(name);
  if (typeof fixed_amount === 'boolean') details.fixed_amount = fixed_amount;
  if (category !== undefined) details.category = category === null ? null : Number(category);
  if (url !== undefined) details.url = url === null ? null : String(url);
  if (details.url !== null && !details.fixed_amount) throw accountFault('FIXED_AMOUNT_FALSE');
}

/** Limits on the reference page of `POST /pos`. */
const MAX_NAME = 45;
const MAX_EXTERNAL_ID = 40;
const MAX_URL = 300;

const rules = {
  name: [
    { code: 'INVALID_NAME', holds: isText },
    { code: 'NAME_TOO_LONG', holds: isWithin(MAX_NAME) },
  ],
  fixed_amount: [{ code: 'INVALID_FIXED_AMOUNT', holds: (value: Json) => typeof value === 'boolean' }],
  category: [{ code: 'INVALID_CATEGORY', holds: (value: Json) => value === null || isNumeric(value) }],
  store_id: [{ code: 'POS_INVALID_STORE_ID', holds: isNumeric }],
  external_store_id: [{ code: 'INVALID_EXTERNAL_STORE_ID', holds: isText }],
  external_id: [
    { code: 'INVALID_EXTERNAL_ID', holds: isExternalId },
    { code: 'EXTERNAL_ID_TOO_LONG', holds: isWithin(MAX_EXTERNAL_ID) },
  ],
  url: [
    { code: 'INVALID_URL', holds: (value: Json) => value === null || URL.canParse(String(value)) },
    { code: 'URL_TOO_LONG', holds: isWithin(MAX_URL) },
  ],
};

/** `store_id` is text although its id is a number (`docs/field-notes.md` QR §4). */
function renderTill(world: World, till: PointOfSale): object {
  const picture = `https://qr.example/${till.id}/${till.uuid}`;
  return {
    id: till.id,
    qr: { image: `${picture}.png`, template_document: `${picture}.pdf`, template_image: `${picture}-template.png` },
    qr_code: picture,
    status: 'active',
    date_created: offsetDate(till.created_at_ms),
    date_last_updated: offsetDate(till.updated_at_ms),
    uuid: till.uuid,
    user_id: Number(till.merchant_id),
    name: till.name,
    fixed_amount: till.fixed_amount,
    category: till.category,
    store_id: till.store_id,
    external_store_id: world.stores.get(till.store_id)?.external_id || null,
    external_id: till.external_id,
    url: till.url,
  };
}

// Fields of stores and tills, each with its own error codes. Source: `docs/field-notes.md` QR §4, reference pages of
// `/pos` and `/users/{user_id}/stores`.

interface FieldRule {
  code: string;
  holds(value: Json): boolean;
}

/** The fields of a create or a change, each checked alone. */
export function readFields(
  call: PaymentsCall,
  rules: Readonly<Record<string, readonly FieldRule[]>>,
  unknown_code: string,
): JsonObject {
  const body = bodyObject(call);
  if (Object.keys(body).length === 0) throw accountFault('MISSING_BODY');
  for (const [name, value] of Object.entries(body)) {
    const checks = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (checks === undefined) throw accountFault(unknown_code, name);
    const broken = checks.find((rule) => !rule.holds(value));
    if (broken !== undefined) throw accountFault(broken.code, name);
  }
  return body;
}

/** 400 with an upper-case code, in the payments envelope, because none is published. */
export function accountFault(code: string, detail = ''): PuenteError {
  const message = detail === '' ? code : `${code}: ${detail}`;
  return refuse('payments', { status: 400, error: code, message });
}

/** @throws PuenteError refused: INVALID_USER_ID, or 403 for another merchant's id (`docs/field-notes.md` QR §6). */
export function checkOwner(call: PaymentsCall): void {
  const user_id = call.path('user');
  if (!/^\d+$/.test(user_id)) throw accountFault('INVALID_USER_ID');
  if (user_id !== call.merchant.user_id) throw refuse('payments', 'forbidden');
}

/** A text of at least one character. */
export function isText(value: Json): boolean {
  return typeof value === 'string' && value !== '';
}

/** Clients write such an id as a number or as text. */
function isNumeric(value: Json): boolean {
  return /^\d{1,15}$/.test(typeof value === 'number' || typeof value === 'string' ? String(value) : '');
}

/** Letters and digits only; null for none. */
export function isExternalId(value: Json): boolean {
  return value === null || (typeof value === 'string' && /^[A-Za-z0-9]+$/.test(value));
}

/** Limits text only: true for any other value. */
export function isWithin(length: number): (value: Json) => boolean {
  return (value) => typeof value !== 'string' || isWithinCharacters(value, length);
}

// `GET /users/me`: the owner of the token. Source: `docs/field-notes.md` QR §4; fields of the official SDK's type.

/** Invented, in the past. */
const REGISTERED_AT_MS = Date.UTC(2024, 0, 15, 12);

const getUser: PaymentsHandler = ({ merchant }) =>
  json(200, {
    id: Number(merchant.user_id),
    nickname: merchant.nickname,
    registration_date: offsetDate(REGISTERED_AT_MS),
    email: `seller-${merchant.user_id}@example.com`,
    site_id: merchant.site.site_id,
    country_id: merchant.site.country_alpha2,
    user_type: 'normal',
    tags: ['normal', 'test_user'],
    status: { site_status: 'active' },
  });

export const tillRows: Rows<'payments'> = [
  ['post', '/pos', createTill],
  ['get', '/pos', listTills],
  ['get', '/pos/:till', getTill],
  ['put', '/pos/:till', changeTill],
  ['delete', '/pos/:till', deleteTill],
  ['get', '/users/me', getUser],
];
