/** Every table and the bound of its rows: a till can't create unlimited rows by making up names. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DETAILS_LIMIT, DIFFERENCES_LIMIT, FIELDS_LIMIT, NAMES_LIMIT, UNITS_LIMIT } from '../../src/store/names.ts';

/** One row for each call, sale or notice, removed by retention; independent of names. */
const BY_WORK = {
  links: 'a create on the orders lane whose token upstream has accepted; `retention.links_ms`',
  link_states: 'a change of a link; goes with it',
  refunds: 'a refund or its cancel; goes with its link',
  legacy_sales: 'a create that was proxied; goes when legacy holds nothing by it any more',
  notices: 'a change that a receiver is told; goes with its link, or before',
  notice_attempts: 'a delivery; they come ever later, and go with the notice',
  events:
    'a webhook; equal ones that wait are one, 20 unverified ones stay of an order, and so many wait for an order at most as `PARKED_EVENTS_LIMIT` says',
  exchanges: 'a call; `evidence.kept_ms`. What it lost and names is bounded in the row',
  exchange_hours: 'an hour',
  shed: 'a day and one of two reasons',
} as const;

/** One row for each merchant with an accepted token, by internal names only: an operation, a lane, a day. */
const BY_MERCHANT = {
  merchants: 'a seller',
  tokens: 'a token that upstream has accepted',
  traffic: 'a seller, day, operation, lane and outcome, all of them names of ours',
  readiness_days: 'a seller and day',
} as const;

/** One row for each name that a till makes up: limited per merchant, the rest counted as one (`src/store/names.ts`). */
const NAMED_BY_TILLS = {
  unknowns: NAMES_LIMIT,
  verdicts: DETAILS_LIMIT,
  ledger: FIELDS_LIMIT,
  coverage: FIELDS_LIMIT,
  differences: DIFFERENCES_LIMIT,
  seen_units: UNITS_LIMIT,
} as const;

/** Calls of tills add no rows. */
const NOT_BY_TILLS = {
  audit: 'what operators decide, and what Puente stops by itself until an operator resets it; never deleted',
  incidents: 'a merchant and kind while it is open; closed ones go after `retention.notices_ms`',
  alerts: 'a receiver of an incident; goes with it',
  bulk_moves: 'an operator; `bulk_runs` since it has rows of merchants',
  bulk_items: 'a merchant of a bulk move',
  proposals: 'an operator',
  meta: 'a fact of the store, by names of ours',
  link_counts: 'a state',
  tallies: 'a kind of count and one of its parts (PostgreSQL)',
  leases: 'a piece of work that a process has in hand, for a minute at most (PostgreSQL)',
  lease_holders: 'a process (PostgreSQL)',
} as const;

function tablesOf(engine: 'sqlite' | 'postgres'): string[] {
  const directory = join(import.meta.dirname, '..', '..', 'src', 'store', engine, 'migrations');
  const texts = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'));
  return texts.flatMap((text) => [...text.matchAll(/CREATE TABLE (\w+)/g)].map((found) => String(found[1])));
}

it('is known of every table of both engines', () => {
  const bounded = [BY_WORK, BY_MERCHANT, NAMED_BY_TILLS, NOT_BY_TILLS].flatMap((some) => Object.keys(some));
  // Gets exchanges whose time has no partition.
  const found = new Set(
    [...tablesOf('sqlite'), ...tablesOf('postgres')].filter((name) => name !== 'exchanges_unplaced'),
  );
  expect(bounded.toSorted()).toEqual([...found].toSorted());
});

it('is a few thousand rows a merchant for what tills name, and ten thousand for terminals', () => {
  const { seen_units, ...others } = NAMED_BY_TILLS;
  expect(Math.max(...Object.values(others))).toBeLessThanOrEqual(1_000);
  expect(seen_units).toBeLessThanOrEqual(10_000);
});
