/** Stores: create, change, delete, search and read. Source: `docs/field-notes.md` QR §4. */
import { isObject, type Json, type JsonObject } from '../../contract/json.ts';
import { json, noContent, refuse } from '../answer.ts';
import { type PaymentsCall, type PaymentsHandler, paged, pageOf, type Rows } from '../call.ts';
import { offsetDate } from '../dates.ts';
import type { Merchant, Store } from '../records.ts';
import type { World } from '../world.ts';
import { accountFault, checkOwner, isExternalId, isText, isWithin, readFields } from './tills.ts';

const DEFAULT_LIMIT = 20;

const createStore: PaymentsHandler = (call) => {
  const { world, merchant } = call;
  checkOwner(call);
  const fields = readFields(call, rules, 'UNKNOWN_FIELD');
  for (const name of ['name', 'location']) {
    if (fields[name] === undefined) throw accountFault('VALIDATION_ERROR', `${name} is required`);
  }
  const store: Store = {
    id: String(world.counters.store),
    merchant_id: merchant.user_id,
    external_id: '',
    name: '',
    business_hours: {},
    location: {},
    created_at_ms: world.clock.now(),
  };
  putStore(call, store, fields);
  world.next('store');
  return json(world.settings.store_create_status, renderStore(store));
};

const searchStores: PaymentsHandler = (call) => {
  checkOwner(call);
  const page = pageOf(call.query, DEFAULT_LIMIT, (name) => accountFault(`INVALID_${name.toUpperCase()}`));
  const external_id = call.query.get('external_id');
  const found = [...call.world.stores.values()].filter(
    (store) => isOwn(call.merchant, store) && (!external_id || store.external_id === external_id),
  );
  return paged(found, page, renderStore);
};

const changeStore: PaymentsHandler = (call) => {
  checkOwner(call);
  const store = storeOf(call);
  putStore(call, store, readFields(call, rules, 'UNKNOWN_FIELD'));
  return json(200, renderStore(store));
};

const deleteStore: PaymentsHandler = (call) => {
  checkOwner(call);
  const store = storeOf(call);
  const isUsed = [...call.world.points_of_sale.values()].some(({ store_id }) => store_id === store.id);
  if (isUsed) throw accountFault('VALIDATION_ERROR', 'the store still has points of sale');
  call.world.stores.delete(store.id);
  return noContent;
};

const getStore: PaymentsHandler = (call) => json(200, renderStore(storeOf(call)));

function putStore({ world, merchant }: PaymentsCall, store: Store, fields: JsonObject): void {
  const external_id = fields.external_id === undefined ? store.external_id : String(fields.external_id ?? '');
  refuseTwin(world, merchant, store, external_id);
  store.external_id = external_id;
  if (fields.name !== undefined) store.name = String(fields.name);
  store.business_hours = fields.business_hours ?? store.business_hours;
  if (isObject(fields.location)) store.location = fields.location;
  world.stores.set(store.id, store);
}

function renderStore({ id, name, created_at_ms, business_hours, location, external_id }: Store): object {
  return {
    id: Number(id),
    name,
    date_creation: offsetDate(created_at_ms),
    business_hours,
    location: renderLocation(location),
    external_id: external_id === '' ? null : external_id,
  };
}

/** External ids are unique per merchant; stores without one do not conflict. */
function refuseTwin(world: World, merchant: Merchant, store: Store, external_id: string): void {
  const hasTwin = [...world.stores.values()].some(
    (other) => isOwn(merchant, other) && other.id !== store.id && other.external_id === external_id,
  );
  if (hasTwin && external_id !== '') throw accountFault('VALIDATION_ERROR', 'external_id is already in use');
}

function storeOf({ world, merchant, path }: PaymentsCall): Store {
  const store = world.stores.get(path('store'));
  if (store === undefined || !isOwn(merchant, store)) {
    throw refuse('payments', { status: 404, error: 'not_found', message: 'Store not found' });
  }
  return store;
}

function isOwn(merchant: Merchant, store: Store): boolean {
  return store.merchant_id === merchant.user_id;
}

/** Limits (`docs/field-notes.md` QR §4); the name's is not published, and taken from tills. */
const MAX_NAME = 45;
const MAX_EXTERNAL_ID = 60;

const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

const rules = {
  name: [
    { code: 'INVALID_NAME', holds: isText },
    { code: 'NAME_TOO_LONG', holds: isWithin(MAX_NAME) },
  ],
  business_hours: [
    { code: 'INVALID_BUSINESS_HOURS', holds: isObject },
    { code: 'INVALID_DAY', holds: (value: Json) => Object.keys(value ?? {}).every((day) => days.includes(day)) },
  ],
  external_id: [
    { code: 'INVALID_EXTERNAL_ID', holds: isExternalId },
    { code: 'EXTERNAL_ID_TOO_LONG', holds: isWithin(MAX_EXTERNAL_ID) },
  ],
  location: [{ code: 'INVALID_LOCATION', holds: isObject }],
};

/** One line for all parts of the address (`docs/field-notes.md` QR §4). */
function renderLocation(location: JsonObject): object {
  const text = (name: string): string => String(location[name] ?? '');
  const street = `${text('street_name')} ${text('street_number')}`.trim();
  const number = (name: string): number | null => (location[name] === undefined ? null : Number(text(name)));
  return {
    address_line: [street, text('city_name'), text('state_name')].filter((part) => part !== '').join(', '),
    reference: text('reference'),
    latitude: number('latitude'),
    longitude: number('longitude'),
  };
}

export const storeRows: Rows<'payments'> = [
  ['post', '/users/:user/stores', createStore],
  ['get', '/users/:user/stores/search', searchStores],
  ['put', '/users/:user/stores/:store', changeStore],
  ['delete', '/users/:user/stores/:store', deleteStore],
  ['get', '/stores/:store', getStore],
];
