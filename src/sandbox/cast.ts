/** The cast: five invented merchants, each with two stores, three tills and, in some sites, three terminals. */

import { type Site, sites } from '../contract/sites.ts';
import type { Merchant, PointOfSale, Terminal } from './records.ts';
import { hashOf, newUuid, type World } from './world.ts';

const TOKEN_STEM = 'APP_USR-4004001-112026-00000000000000000000000000000a01';
const APPLICATION_ID = '4004001';

/** Every merchant gets one token and one authorization code. */
export function fillCast(world: World): void {
  addMerchant(world, '700100200', sites.MLA, 1);
  addMerchant(world, '700100300', sites.MLB, 2);
  addMerchant(world, '700100400', sites.MLM, 3);
  addMerchant(world, '700100500', sites.MLC, 4);
  addMerchant(world, '700100600', sites.MLU, 5);
}

/** Terminals exist in Argentina, Brazil and Mexico; `extra_terminals` adds more, each with its own point of sale. */
function addMerchant(world: World, merchant_id: string, site: Site, ordinal: number): void {
  const merchant: Merchant = {
    user_id: merchant_id,
    nickname: `TESTSELLER${ordinal}`,
    site,
    access_token: `${TOKEN_STEM}-${merchant_id}`,
    application_id: APPLICATION_ID,
    has_marketplace: true,
    may_hand_out_cash: false,
  };
  world.merchants.set(merchant_id, merchant);
  addToken(world, merchant.access_token, merchant_id, false);
  const code = `TG-0000000000000000000000c0-${merchant_id}`;
  world.grants.set(code, { code, type: 'authorization_code', merchant_id });
  const [first_store, second_store] = ['SUC001', 'SUC002'].map((external_id, index) => {
    const id = `${ordinal}000${index + 1}`;
    const store = {
      id,
      merchant_id,
      external_id,
      name: external_id,
      business_hours: {},
      location: {},
      created_at_ms: 0,
    };
    world.stores.set(id, store);
    return id;
  }) as [string, string]; // as many as names
  const addPoint = (id: number, external_id: string, store_id: string): number => {
    world.points_of_sale.set(id, newPoint(world, { id, merchant_id, external_id, store_id }));
    return id;
  };
  const base = ordinal * 1_000_000;
  const points = [
    addPoint(base + 1, 'SUC001POS001', first_store),
    addPoint(base + 2, 'SUC001POS002', first_store),
    addPoint(base + 3, 'SUC002POS001', second_store),
  ] as const;
  if (!['MLA', 'MLB', 'MLM'].includes(site.site_id)) return;
  const addTerminal = (id: string, pos_id: number, operating_mode: Terminal['operating_mode']): void =>
    putTerminal(world, { id, merchant_id, pos_id, operating_mode, software: 'current', occupation: null });
  addTerminal('PAX_A910__SMARTPOS0000000001', points[0], 'PDV');
  addTerminal('NEWLAND_N950__SBX0000001', points[1], 'PDV');
  addTerminal('PAX_A910__SMARTPOS0000000002', points[2], 'STANDALONE');
  for (let index = 1; index <= world.settings.extra_terminals; index++) {
    const serial = String(index).padStart(7, '0');
    addTerminal(`NEWLAND_N950__LOAD${serial}`, addPoint(base + 1000 + index, `LOAD${serial}`, second_store), 'PDV');
  }
}

/** Stores the hash of the token only. @param oauth the token was granted to an integrator, not made by the merchant. */
export function addToken(world: World, token: string, merchant_id: string, oauth: boolean): void {
  const hash = hashOf(token);
  world.tokens.set(hash, { hash, merchant_id, oauth });
}

/** Replaces the merchant's terminal of the same id. */
export function putTerminal(world: World, terminal: Terminal): void {
  world.terminals.set(`${terminal.merchant_id}/${terminal.id}`, terminal);
}

/** A till with defaults for all other fields. */
export function newPoint(
  world: World,
  ids: Pick<PointOfSale, 'id' | 'merchant_id' | 'external_id' | 'store_id'>,
): PointOfSale {
  const now_ms = world.clock.now();
  return {
    ...ids,
    uuid: newUuid(world).replaceAll('-', ''),
    name: ids.external_id ?? `Till ${ids.id}`,
    fixed_amount: true,
    category: null,
    url: null,
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
  };
}
