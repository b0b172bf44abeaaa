/** Thousands of calls of till scripts are captured, assessed and replayed; every sum equals the tills' own counts. */
import { cpSync, createReadStream, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Made, makeCapture } from '../../scripts/make-capture/run.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { type Assessment, assessmentOf } from '../../src/ops/capture/assess.ts';
import { viewAssessment } from '../../src/ops/capture/assessment.ts';
import { readCapture } from '../../src/ops/capture/read.ts';
import { type Replay, replayOf } from '../../src/ops/capture/replay.ts';
import type { Exchange } from '../../src/proxy/evidence/exchange.ts';
import { redactValue } from '../../src/proxy/evidence/redact.ts';

const MAPPINGS = join(import.meta.dirname, '..', '..', 'mappings');
/** Half a minute alone; several times that on a busy machine. */
const LIMIT_MS = 240_000;
/** Enough for every operation and every loss; the night takes ten thousand (`scripts/prove/suites.ts`). */
const CALLS = Number(process.env.CAPTURED_CALLS ?? 2_000);
const tables = loadTables(MAPPINGS);

const directory = mkdtempSync(join(tmpdir(), 'puente-assess-'));

async function made(stage: 'shadow' | 'orders', exchanges: number): Promise<Made & { file: string }> {
  const file = join(directory, `${stage}.jsonl`);
  const found = await makeCapture({ stage, exchanges, output: file, seed: 7, onProgress: () => undefined });
  return { ...found, file };
}

function replayed(file: string, mappings = MAPPINGS): Promise<Replay> {
  const tools = { tables: loadTables(mappings), redact: redactValue, clock: performance };
  return replayOf(readCapture(createReadStream(file)), tools);
}

/** A copy of the tables with one text changed in one file. */
function tablesWith(name: string, path: string, from: string, to: string): string {
  const copy = join(directory, name);
  cpSync(MAPPINGS, copy, { recursive: true });
  const text = readFileSync(join(copy, path), 'utf8');
  expect(text.split(from)).toHaveLength(2);
  writeFileSync(join(copy, path), text.replace(from, to));
  return copy;
}

/** The exchanges of the file, read without the code under test. */
function linesOf(file: string): Exchange[] {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .slice(1, -1)
    .map((line) => JSON.parse(line));
}

function sumOf<Row>(rows: readonly Row[], count: (row: Row) => number): number {
  return rows.reduce((sum, row) => sum + count(row), 0);
}

describe('a capture in stage shadow', () => {
  let capture: Made & { file: string };
  let kept: Exchange[];
  let assessment: Assessment;

  beforeAll(async () => {
    capture = await made('shadow', CALLS);
    kept = linesOf(capture.file);
    const tools = { tables, redact: redactValue, clock: performance, now: Date.now() };
    const options = { merchant_id: null, site: null, voucher: 'refuse', min_sample: 20, hosts: [] } as const;
    assessment = await assessmentOf(readCapture(createReadStream(capture.file)), tools, options);
  }, LIMIT_MS);

  test('has every call that the tills made', () => {
    const { counts } = capture;
    expect(kept.length).toBeGreaterThanOrEqual(CALLS);
    expect(kept.length).toBe(counts.calls);
    expect(Object.keys(counts.operations).length).toBeGreaterThan(25);
    const byOperation = Object.groupBy(kept, ({ operation }) => operation ?? '');
    const found = Object.entries(byOperation).map(([name, calls = []]) => [
      name,
      { calls: calls.length, ok: calls.filter(({ status }) => status < 400).length },
    ]);
    expect(Object.fromEntries(found)).toEqual(counts.operations);
  });

  test('is assessed call by call, and the sums agree with the tills', async () => {
    const { book, sums, remarks, unreadable } = assessment;
    const { operations, calls } = capture.counts;
    const proxied = operations['']?.calls ?? 0;
    expect(proxied).toBeGreaterThan(0);
    expect(sums).toMatchObject({
      lines: calls,
      assessed: calls - proxied,
      no_operation: proxied,
      unreadable: 0,
      unanswered: 0,
    });
    expect([remarks, unreadable]).toEqual([[], []]);
    const traffic = await book.evidence.traffic({});
    for (const [name, { calls: made, ok }] of Object.entries(operations).filter(([name]) => name !== '')) {
      const rows = traffic.filter(({ operation }) => operation === name);
      expect([name, sumOf(rows, (row) => row.calls)]).toEqual([name, made]);
      const went = rows.filter(({ outcome }) => outcome === 'ok');
      expect([name, sumOf(went, (row) => row.calls)]).toEqual([name, ok]);
    }
    const creates = tables.operations.filter(({ upstream }) => upstream === 'create').map(({ name }) => name);
    const sold = sumOf(creates, (name) => operations[name]?.calls ?? 0);
    expect(sums.shadowed).toBe(sold);
    expect(sumOf(await book.evidence.verdicts(), ({ count }) => count)).toBe(sold);
    const endpoints = (await book.evidence.unknowns()).filter(({ what }) => what === 'endpoint');
    expect(sumOf(endpoints, ({ count }) => count)).toBe(proxied);
  });

  test('agrees with what was found when the calls came', async () => {
    const seen = kept.filter(({ shadow }) => shadow !== null);
    expect(seen.length).toBeGreaterThan(CALLS / 10);
    const verdicts = Object.groupBy(await assessment.book.evidence.verdicts(), ({ verdict }) => verdict);
    for (const [verdict, rows = []] of Object.entries(verdicts)) {
      const found = seen.filter(({ shadow }) => shadow?.verdict === verdict).length;
      expect([verdict, sumOf(rows, ({ count }) => count)]).toEqual([verdict, found]);
    }
    for (const path of ['body.tip', 'body.waiter', 'x-corporation-id', 'body.items[].picture_url']) {
      const lost = seen.filter(({ shadow }) =>
        shadow?.losses.some((loss) => loss.path.replaceAll(/\[\d+\]/g, '[]') === path),
      );
      const rows = (await assessment.book.evidence.ledger()).filter((row) => row.path === path);
      expect(lost.length).toBeGreaterThan(0);
      expect([path, sumOf(rows, ({ count }) => count)]).toEqual([path, lost.length]);
    }
  });

  test('agrees with the sandbox: every sale is there once, and no order was made', () => {
    const { state, counts } = capture;
    const { operations } = counts;
    expect(state.counts.orders).toBe(0);
    expect(state.legacy.counts.intents).toBe(operations['point.create_intent']?.ok);
    expect(state.legacy.counts.intents).toBe(counts.made.point);
    const codes = tables.operations.filter(({ kind, upstream }) => kind === 'qr' && upstream === 'create');
    expect(sumOf(codes, ({ name }) => operations[name]?.ok ?? 0)).toBe(counts.made.qr);
  });

  test('gives a verdict on each of the five merchants, and tells no secret', async () => {
    const view = await viewAssessment(assessment, tables, Date.now());
    expect(view.merchants.map(({ merchant_id }) => merchant_id)).toEqual([
      '700100200',
      '700100300',
      '700100400',
      '700100500',
      '700100600',
    ]);
    expect(view.verdict).toBe('blocked');
    // Mexico's QR sales have no counterpart in orders (`docs/field-notes.md` Spec Order, currency).
    expect(view.merchants[2]?.readiness.blockers.map(({ what }) => what).join()).toMatch(/unsupported_site/);
    const told = JSON.stringify(view) + readFileSync(capture.file, 'utf8');
    for (const secret of ['c4n4ry', 'marta.canary', '5031755734530604', 'APP_USR-']) expect(told).not.toContain(secret);
  });

  test(
    'replays without a change',
    async () => {
      const first = await replayed(capture.file);
      expect(first.changes).toEqual([]);
      expect(first.sums).toMatchObject({
        lines: kept.length,
        replayed: assessment.sums.shadowed,
        unreadable: 0,
        changed: 0,
      });
      expect(first.sums.replayed + first.sums.left_out).toBe(kept.length);
    },
    LIMIT_MS,
  );

  test(
    'with one row changed exactly that shows',
    async () => {
      const next = tablesWith(
        'without-tickets',
        'point/create.request.yaml',
        '  - copy: body.additional_info.ticket_number\n    to: body.config.point.ticket_number\n',
        '  - drop: body.additional_info.ticket_number\n    policy: note\n    advice: Print the number on a ticket of your own.\n',
      );
      const { changes, sums } = await replayed(capture.file, next);
      const tickets = kept.filter(({ shadow }) => {
        const order = shadow?.order as { config?: { point?: { ticket_number?: string } } } | null | undefined; // as this build made it
        return order?.config?.point?.ticket_number !== undefined;
      });
      expect(tickets.length).toBeGreaterThan(CALLS / 100);
      expect(sums.changed).toBe(tickets.length);
      const of = { operation: 'point.create_intent', count: tickets.length, sample: tickets[0]?.id };
      expect(changes).toHaveLength(2);
      expect(changes).toContainEqual(
        expect.objectContaining({ ...of, what: 'upstream', path: 'config.point.ticket_number', after: 'nothing' }),
      );
      expect(changes).toContainEqual(
        expect.objectContaining({ ...of, what: 'loss', before: 'nothing', after: 'lost' }),
      );
    },
    LIMIT_MS,
  );
});

describe('a capture on orders', () => {
  let capture: Made & { file: string };

  beforeAll(async () => {
    capture = await made('orders', 600);
  }, LIMIT_MS);

  test('replays without a change: what was sent, what was refused, and what tills were told', async () => {
    const { changes, sums, not_compared, unreadable } = await replayed(capture.file);
    expect(changes).toEqual([]);
    expect(sums.replayed).toBeGreaterThan(sums.lines * 0.9);
    expect(unreadable).toEqual([]);
    expect(not_compared.every(({ why }) => /stored/.test(why))).toBe(true);
    expect(capture.state.counts.orders).toBeGreaterThan(50);
  });

  test.each([
    [
      'an answer',
      'qr_v1/preference.answer.yaml',
      '  - const: NONE\n',
      '  - const: OTHER\n',
      { what: 'answer', path: 'marketplace' },
    ],
    [
      'an error',
      'point/errors.yaml',
      'code: cannot_cancel_order, error: cancel_blocked',
      'code: cannot_cancel_order, error: intent_not_cancelable',
      { what: 'answer', operation: 'point.cancel_intent' },
    ],
    [
      'a request',
      'point/create.request.yaml',
      '    to: body.config.point.ticket_number\n',
      '    to: body.description\n    sites: [MLA]\n    elsewhere: silent\n',
      { what: 'upstream', operation: 'point.create_intent' },
    ],
  ])('%s that is changed shows, nothing else does, and the same every time', async (what, path, from, to, change) => {
    const next = tablesWith(what, path, from, to);
    const found = await replayed(capture.file, next);
    expect(found.changes.length).toBeGreaterThan(0);
    for (const group of found.changes) expect(group).toMatchObject(change);
    expect(await replayed(capture.file, next)).toEqual(found);
  });
});
