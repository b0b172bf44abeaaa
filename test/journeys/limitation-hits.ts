/** Registers the test of each limitation, and checks its hits in the reports of the closed orders worlds. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { WrittenLimitation } from '../../src/mapping/limitations.ts';
import { readDocuments } from '../../src/mapping/load.ts';
import { gatherReport } from '../../src/ops/report/gather.ts';
import type { Report } from '../../src/ops/report/report.ts';
import type { Clock } from '../../src/proxy/clock.ts';
import { createVault, Secret } from '../../src/proxy/vault.ts';
import { usualKeeping } from '../engines/keeping.ts';
import { closing } from '../open.ts';
import { portsAt } from '../proxy/routing/lane-ports.ts';

/** The worlds' secret key, so that their stores can be read after closing. */
export const WORLD_KEY = 'e1'.repeat(32);

/** The report on the data of a closed Puente, which holds everything it saw. @param since epoch ms. */
export async function reportOnClosed(
  data_dir: string,
  { since, clock, notice_agent }: { since: number; clock: Clock; notice_agent: string },
): Promise<Report> {
  const vault = createVault(new Secret(WORLD_KEY));
  await using store = closing(await usualKeeping().open(data_dir, vault.coverKey()));
  const ports = portsAt(store, clock.now, { clock, vault });
  const ask = { merchant_id: null, since, until: clock.now() + 1 };
  return await gatherReport(ports, ask, { assumptions: [], notice_agent });
}

/** Reports of orders worlds closed since the list was set; null while no test collects them. */
export const closed: { reports: Report[] | null } = { reports: null };

export async function reportsOf(run: () => Promise<unknown>): Promise<Report[]> {
  const reports: Report[] = [];
  closed.reports = reports;
  try {
    await run();
  } finally {
    closed.reports = null;
  }
  return reports;
}

/** Limitations with hits, in the order of their numbers. */
export function hitsIn({ limitations }: Report): [id: string, hits: number][] {
  return limitations
    .flatMap(({ id, hits }): [string, number][] => (hits === null ? [] : [[id, hits]]))
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** One makes a thousand sales, others dozens. */
const LIMIT_MS = 180_000;

/** The limitations of a family, a function that registers the test of one, and the registered ids. */
export function limitationsOf(is_own: (id: string) => boolean): {
  limitations: WrittenLimitation[];
  limitation(id: string, run: () => Promise<void>): void;
  shown: ReadonlySet<string>;
} {
  const { documents } = readDocuments(join(import.meta.dirname, '..', '..', 'mappings'));
  const limitations = documents.limitations.filter(({ id }) => is_own(id));
  const shown = new Set<string>();
  const limitation = (id: string, run: () => Promise<void>): void => {
    const entry = limitations.find((one) => one.test === id);
    shown.add(id);
    const work = async (): Promise<void> => {
      if (entry === undefined) throw new Error(`${id} has no entry`);
      expect(entry.id).toBe(id);
      expectCounted(entry, await reportsOf(run));
    };
    test(`${id}: ${entry?.title}`, work, LIMIT_MS);
  };
  return { limitations, limitation, shown };
}

/** A counted limitation must have hits in a report; one that can't be counted must be among the unseen of each. */
function expectCounted({ id, counted, operations }: WrittenLimitation, reports: readonly Report[]): void {
  expect(reports.length, 'reports of orders worlds').toBeGreaterThan(0);
  if ('unseen' in counted) {
    const called = reports.filter(({ traffic }) =>
      traffic.some(({ lane, operation }) => lane === 'orders' && operations.includes(operation)),
    );
    expect(called.length, `calls of the operations of ${id}`).toBeGreaterThan(0);
    for (const { limitations } of called)
      expect(limitations).toContainEqual(expect.objectContaining({ id, hits: null, unseen: counted.unseen }));
  } else {
    const met = reports.map((report) => hitsIn(report).map(([one]) => one));
    expect(met.filter((ids) => ids.includes(id)).length, `reports with hits of ${id}: ${met}`).toBeGreaterThan(0);
  }
}

/** LIM-01 to LIM-20 and LIM-70 to LIM-72 are about Point; the others have their own test file. */
export function isOfPoint(id: string): boolean {
  return id <= 'LIM-20' || (id >= 'LIM-70' && id <= 'LIM-72');
}
