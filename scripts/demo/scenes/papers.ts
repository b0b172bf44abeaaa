/** The papers of the last day: reports by merchant and fleet, changes since day one, a sale's trace, the chain. */
import { join } from 'node:path';
import type { ReportDiff } from '../../../src/ops/report/diff.ts';
import type { Report } from '../../../src/ops/report/report.ts';
import type { Journey, Scene } from '../journey.ts';
import { rowsOf, writeReport } from '../papers.ts';
import type { Shop } from '../shop.ts';

export const reports: Scene = {
  title: 'The report: as data, as tables, and as one file to print; its sums are those of the tills',
  async play(journey) {
    const { shops, transcript } = journey;
    for (const shop of Object.values(shops)) {
      const report = await reportOf(journey, `${shop.name}.json`, `merchant=${shop.merchant}`);
      transcript.expect(`${shop.name}: calls by operation are those that the tills counted`, ...sums(report, shop));
      transcript.expect(`${shop.name}: sales by side are those that the tills counted`, salesIn(report), salesOf(shop));
      await writeReport(journey, `${shop.name}.html`, `merchant=${shop.merchant}&format=html`);
    }
    const fleet = await reportOf(journey, 'fleet.json', '');
    const stands = fleet.merchants.map(({ merchant_id, stage, verdict }) => `${merchant_id} ${stage} ${verdict}`);
    transcript.expect('the fleet in one table', stands, [
      `${shops.ar.merchant} orders inconclusive`,
      `${shops.br.merchant} legacy ready`,
      `${shops.mx.merchant} shadow blocked`,
      `${shops.cl.merchant} orders inconclusive`,
    ]);
    const { shed } = fleet.exchanges;
    const waiting = fleet.notices.map(({ pending, dead }) => pending + dead);
    // A busy machine skips some double reads and reports how many.
    transcript.tell('found', `${shed.shadow} shadows were left out, as the report says`);
    transcript.expect(
      'every call is in the evidence, and no notice waits',
      [shed.evidence, waiting],
      [0, waiting.map(() => 0)],
    );
    const csv = await writeReport(journey, 'fleet-traffic.csv', 'format=csv&part=traffic');
    const counted = rowsOf(csv).reduce((sum, { calls }) => sum + Number(calls), 0);
    await writeReport(journey, 'fleet-decisions.csv', 'format=csv&part=decisions');
    const html = await writeReport(journey, 'fleet.html', 'format=html');
    const facts = [counted, /(src|href)\s*=\s*["']?(https?:)?\/\//i.test(html)];
    transcript.expect('the table has all calls, and the file needs no network', facts, [callsOf(shops), false]);
  },
};

async function reportOf(journey: Journey, file: string, query: string): Promise<Report> {
  return JSON.parse(await writeReport(journey, file, query)) as Report; // the report's shape
}

/** Calls by operation: those of the report, and those of the tills. */
function sums({ traffic }: Report, { counts }: Shop): [Record<string, number>, Record<string, number>] {
  const found: Record<string, number> = {};
  for (const { operation, calls } of traffic) found[operation] = (found[operation] ?? 0) + calls;
  return [found, Object.fromEntries(Object.entries(counts.operations).map(([name, { calls }]) => [name, calls]))];
}

function salesIn({ traffic }: Report): Record<string, number> {
  const made = (lane: string): number =>
    traffic
      .filter((line) => line.lane === lane && ['point.create_intent', 'qr.put_order'].includes(line.operation))
      .reduce((sum, { outcomes }) => sum + outcomes.ok, 0);
  return { legacy: made('legacy'), orders: made('orders') };
}

function salesOf({ sales }: Shop): Record<string, number> {
  const made = (side: string): number => sales.filter(({ born }) => born === side).length;
  return { legacy: made('legacy'), orders: made('orders') };
}

function callsOf(shops: Journey['shops']): number {
  return Object.values(shops).reduce((sum, { counts }) => sum + counts.calls, 0);
}

export const story: Scene = {
  title: 'What changed since the first day, one sale from end to end, and the chain of decisions',
  async play({ office, transcript, shops, output, noted_head }) {
    const files = ['AR-start.json', 'AR.json'].map((file) => join(output, file));
    const diff = await office.run('ana', 'report', 'diff', ...files, '--json');
    const { verdict, changes, decisions, incidents } = JSON.parse(diff.out) as ReportDiff; // the command's shape
    transcript.tell(
      'found',
      `${changes.length} lines changed, ${decisions.length} decisions, ${incidents.length} incidents`,
    );
    const unproven = { before: 'inconclusive', after: 'inconclusive' };
    transcript.expect('AR, now on orders, is not complete: its tills called legacy within a week', verdict, unproven);
    const actions = [...decisions, ...incidents].map(({ action }) => action);
    const wanted = [
      'stage',
      'safety stop',
      'safety reset',
      'brown-out scheduled',
      'brown-out aborted',
      'move proposed',
    ];
    transcript.expect(
      'every decision and the stop are in it',
      wanted.filter((action) => !actions.includes(action)),
      [],
    );
    const reference = 'Pedido 002 / caja 1';
    const trace = await office.run('ana', 'trace', reference, '--merchant', shops.ar.merchant);
    for (const line of trace.out.trim().split('\n').slice(0, 8)) transcript.tell('said', line);
    const told = ['created on orders', reference, 'The till called point.create_intent', 'Delivered'].map((words) =>
      trace.out.includes(words),
    );
    transcript.expect("a sale's story by the till's own reference", [trace.code, ...told], [0, true, true, true, true]);
    const verify = await office.run('ana', 'audit', 'verify', '--expect', noted_head);
    transcript.tell('said', verify.out.trim().replaceAll('\n', ' '));
    transcript.expect('the chain of decisions is intact, with the head of the first day in it', verify.code, 0);
  },
};
