/** Stores: create, change, delete, search and read. Source: `docs/field-notes.md` QR §4. */
import type { Router } from 'express';
import type { Json } from '../../contract/json.ts';
import { json } from '../answer.ts';
import type { Merchant, Store } from '../cast.ts';
import { offsetDate } from '../dates.ts';
import {
  isJsonObject,
  type JsonObject,
  type OlderCall,
  olderRouter,
  paged,
  pageOf,
  refuseWith,
} from '../older-call.ts';
import type { World } from '../world.ts';
import { accountFault, checkOwner, isExternalId, isText, isWithin, readFields } from './tills.ts';

/** What a store has beside the ids that the rest of the sandbox needs; the cast's stores have none of it until changed. */
interface StoreDetails {
  name: string;
  business_hours: Json;
  location: JsonObject;
  created_at_ms: number;
}

/** Above every store number of the cast. */
const FIRST_STORE_ID = 60_000_001;
const DEFAULT_LIMIT = 20;

export function storesRouter(world: World): Router {
  const desk = createDesk(world);
  return olderRouter(world, [
    ['post', '/users/:user/stores', (call) => desk.create(call)],
    [
      'get',
      '/users/:user/stores/search',
      (call) => {
        checkOwner(call);
        const page = pageOf(call.query, DEFAULT_LIMIT, (name) => accountFault(`INVALID_${name.toUpperCase()}`));
        const external_id = call.query.get('external_id');
        const found = [...world.stores.values()].filter(
          (store) => isOwn(call.merchant, store) && (!external_id || store.external_id === external_id),
        );
        return paged(found, page, desk.render);
      },
    ],
    ['put', '/users/:user/stores/:store', (call) => desk.change(call)],
    [
      'delete',
      '/users/:user/stores/:store',
      (call) => {
        checkOwner(call);
        const store = storeOf(call);
        const isUsed = [...world.points_of_sale.values()].some(({ store_id }) => store_id === store.id);
        if (isUsed) throw accountFault('VALIDATION_ERROR', 'the store still has points of sale');
        world.stores.delete(store.id);
        return { status: 204, body: '' };
      },
    ],
    ['get', '/stores/:store', (call) => json(200, desk.render(storeOf(call)))],
  ]);
}

function createDesk(world: World) {
  const details = new Map<string, StoreDetails>();
  const ids = { next: FIRST_STORE_ID };
  world.onReset(() => {
    details.clear();
    ids.next = FIRST_STORE_ID;
  });
  const detailsOf = (store: Store): StoreDetails =>
    details.get(store.id) ?? { name: store.external_id, business_hours: {}, location: {}, created_at_ms: 0 };
  const render = (store: Store): object => {
    const { name, business_hours, location, created_at_ms } = detailsOf(store);
    return {
      id: Number(store.id),
      name,
      date_creation: offsetDate(created_at_ms),
      business_hours,
      location: renderLocation(location),
      external_id: store.external_id === '' ? null : store.external_id,
    };
  };
  const put = (call: OlderCall, store: Store, before: StoreDetails, fields: JsonObject): void => {
    const external_id = fields.external_id === undefined ? store.external_id : String(fields.external_id ?? '');
    refuseTwin(world, call.merchant, store, external_id);
    store.external_id = external_id;
    world.stores.set(store.id, store);
    details.set(store.id, {
      name: fields.name === undefined ? before.name : String(fields.name),
      business_hours: fields.business_hours ?? before.business_hours,
      location: isJsonObject(fields.location) ? fields.location : before.location,
      created_at_ms: before.created_at_ms,
    });
  };
  return {
    render,
    create(call: OlderCall) {
      checkOwner(call);
      const fields = readFields(call, rules, 'UNKNOWN_FIELD');
      for (const name of ['name', 'location']) {
        if (fields[name] === undefined) throw accountFault('VALIDATION_ERROR', `${name} is required`);
      }
      const store: Store = { id: String(ids.next), merchant_id: call.merchant.user_id, external_id: '' };
      put(call, store, { ...detailsOf(store), created_at_ms: world.clock.now() }, fields);
      ids.next++;
      return json(world.settings.store_create_status, render(store));
    },
    change(call: OlderCall) {
      checkOwner(call);
      const store = storeOf(call);
      put(call, store, detailsOf(store), readFields(call, rules, 'UNKNOWN_FIELD'));
      return json(200, render(store));
    },
  };
}

/** External ids are unique among the stores of a merchant; a store without one is like nobody. */
function refuseTwin(world: World, merchant: Merchant, store: Store, external_id: string): void {
  const hasTwin = [...world.stores.values()].some(
    (other) => isOwn(merchant, other) && other.id !== store.id && other.external_id === external_id,
  );
  if (hasTwin && external_id !== '') throw accountFault('VALIDATION_ERROR', 'external_id is already in use');
}

function storeOf({ world, merchant, path }: OlderCall): Store {
  const store = world.stores.get(path('store'));
  if (store === undefined || !isOwn(merchant, store)) {
    throw refuseWith({ status: 404, error: 'not_found', message: 'Store not found' });
  }
  return store;
}

function isOwn(merchant: Merchant, store: Store): boolean {
  return store.merchant_id === merchant.user_id;
}

/** Longest name of a store, and longest external id (`docs/field-notes.md` QR §4; the name's is not published and taken from tills). */
const MAX_NAME = 45;
const MAX_EXTERNAL_ID = 60;

const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

const rules = {
  name: [
    { code: 'INVALID_NAME', holds: isText },
    { code: 'NAME_TOO_LONG', holds: isWithin(MAX_NAME) },
  ],
  business_hours: [
    { code: 'INVALID_BUSINESS_HOURS', holds: isJsonObject },
    { code: 'INVALID_DAY', holds: (value: Json) => Object.keys(value ?? {}).every((day) => days.includes(day)) },
  ],
  external_id: [
    { code: 'INVALID_EXTERNAL_ID', holds: isExternalId },
    { code: 'EXTERNAL_ID_TOO_LONG', holds: isWithin(MAX_EXTERNAL_ID) },
  ],
  location: [{ code: 'INVALID_LOCATION', holds: isJsonObject }],
};

/** The parts of the address come back as one line (`docs/field-notes.md` QR §4). */
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
