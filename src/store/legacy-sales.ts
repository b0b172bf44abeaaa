/** Sales born on legacy: what became of one, and the ways to find it. */

import { PuenteError } from '../error.ts';
import { LATE_EFFECT_MS, type LegacySale, type LegacySaleChange } from '../proxy/records/routing.ts';
import type { Store } from '../proxy/store.ts';
import type { Reader, Writer } from './engine.ts';
import type { Step, Unit, Value } from './unit.ts';
import { HOLDING } from './writes-routing.ts';

/** The columns of a LegacySale; `sequence` stays with the store. */
export const SALE = `id, merchant_id, family, work, unit, slot, legacy_id, client_reference, state, unproven_token,
  ends_at, created_at, updated_at`;

type SaleMethods = Pick<
  Store,
  'saveLegacySale' | 'legacySale' | 'openLegacySales' | 'legacySalesByReference' | 'tidyLegacySales'
>;

/** @returns until when legacy may hold a unit of a merchant, by what is written now; epoch ms, 0 for a merchant that has nothing there. */
export function heldUntilRead(reader: Reader): (merchant_id: string) => Promise<number> {
  const read = reader.prepare<[string], { ends_at: number }>(
    `SELECT ends_at FROM legacy_sales INDEXED BY legacy_sales_until WHERE merchant_id = (SELECT ?) AND slot IS NOT NULL
       AND ${HOLDING} ORDER BY ends_at DESC LIMIT 1`,
  );
  return async (merchant_id) => (await read.get(merchant_id))?.ends_at ?? 0;
}

export function legacySaleMethods(reader: Reader, writer: Writer, now: () => number): SaleMethods {
  const byLegacy = reader.prepare<[string], LegacySale>(
    `SELECT ${SALE} FROM legacy_sales WHERE legacy_id = (SELECT ?) ORDER BY sequence DESC LIMIT 1`,
  );
  const open = reader.prepare<[string, number, number], LegacySale>(
    `SELECT ${SALE} FROM legacy_sales INDEXED BY legacy_sales_until WHERE merchant_id = (SELECT ?) AND slot IS NOT NULL
       AND ${HOLDING} AND ends_at > (SELECT ?) ORDER BY sequence LIMIT (SELECT ?)`,
  );
  const byReference = reader.prepare<[string, string, number], LegacySale>(
    `SELECT ${SALE} FROM legacy_sales WHERE merchant_id = (SELECT ?) AND client_reference = (SELECT cover(?))
       ORDER BY sequence DESC LIMIT (SELECT ?)`,
  );
  const old = reader.prepare<[number, number, number], { sequence: number }>(
    `SELECT sequence FROM legacy_sales INDEXED BY legacy_sales_by_age WHERE created_at < (SELECT ?)
       AND NOT (${HOLDING} AND ends_at > (SELECT ?)) ORDER BY created_at LIMIT ?`,
  );
  return {
    async saveLegacySale(id, change) {
      const at = now();
      const steps: Step[] = [{ write: 'update_legacy_sale', values: [...valuesOfChange(change, at), id], changes: 1 }];
      if (change.state === 'OPEN' || change.slot !== undefined)
        steps.push({ write: 'end_earlier_legacy_sales', values: [at, id, at - LATE_EFFECT_MS] });
      const result = await writer.commit({ steps });
      if (result.kind === 'done') return;
      throw new PuenteError('not_found', `There is no sale ${id} born on legacy: nothing was changed.`);
    },
    legacySale: async (legacy_id) => (await byLegacy.get(legacy_id)) ?? null,
    openLegacySales: async (merchant_id, at, limit) => await open.all(merchant_id, at, limit),
    legacySalesByReference: async (merchant_id, reference, limit) =>
      await byReference.all(merchant_id, reference, limit),
    async tidyLegacySales(before, at, limit) {
      const gone = (await old.all(before, at, limit)).map(({ sequence }) => sequence);
      if (gone.length === 0) return 0;
      const values = [JSON.stringify(gone)];
      const result = await writer.commit({ steps: [{ write: 'delete_legacy_sales', values }] });
      if (result.kind === 'done') return gone.length;
      throw new PuenteError('store_failed', 'Old sales born on legacy were not deleted: try again.');
    },
  };
}

/** What was being carried when the last process ended is in doubt. @param now epoch ms. */
export function doubtLegacySales(now: number): Unit {
  return { steps: [{ write: 'doubt_legacy_sales', values: [now] }] };
}

/** The values of `update_legacy_sale`, in its order and before its id. */
function valuesOfChange(change: LegacySaleChange, now: number): Value[] {
  const given = (value: string | null | undefined): Value[] => (value === undefined ? [0, null] : [1, value]);
  return [
    change.state ?? null,
    ...given(change.legacy_id),
    change.unit ?? null,
    ...given(change.slot),
    change.unproven_token === null ? 1 : 0,
    change.ends_at ?? null,
    change.state === undefined ? null : (change.at ?? now),
  ];
}

/** The values of `insert_legacy_sale`, in its order and before its guard. */
export function valuesOfSale(sale: LegacySale): Value[] {
  return [
    sale.id,
    sale.merchant_id,
    sale.family,
    sale.work,
    sale.unit,
    sale.slot,
    sale.legacy_id,
    sale.client_reference,
    sale.state,
    sale.unproven_token,
    sale.ends_at,
    sale.created_at,
    sale.updated_at,
  ];
}
