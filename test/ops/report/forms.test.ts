/** A report's forms: CSV without formulas, HTML without injection, quantiles within an eighth, diff of two reports. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { factText } from '../../../src/locales/message.ts';
import { loadWords } from '../../../src/locales/words.ts';
import { daySums } from '../../../src/ops/charts/charts.ts';
import { csvLine, reportCsv } from '../../../src/ops/report/csv.ts';
import { diffReports, readReport } from '../../../src/ops/report/diff.ts';
import { verdictDays } from '../../../src/ops/report/gather.ts';
import { reportHtml } from '../../../src/ops/report/html.ts';
import {
  addDuration,
  addExchange,
  createHistogram,
  createTally,
  quantile,
  waitLines,
} from '../../../src/ops/report/tally.ts';
import { anyText } from '../../any-text.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import { decision, reportOf as report } from './kit.ts';

const { en } = loadWords();

describe('CSV', () => {
  it.each(['=1+1', '+1', '-1+2', '@sum(a1)', '\tx', '\rx', '\0=1', '＝1', '  =1', '\n=1', '|calc', '%0a'])(
    'a cell %j does not start a formula [F129]',
    (text) => {
      const line = csvLine([text]);
      expect(line).toMatch(/^"'/);
      expect(line.endsWith('"\r\n')).toBe(true);
    },
  );

  it('quotes, commas and line breaks stay inside their cell; a negative number stays one [F129]', () => {
    expect(csvLine(['a "b"', 'c,d', 'e\nf', 7, -3.5, null])).toBe('"a ""b""","c,d","e\nf",7,-3.5,\r\n');
  });

  it('whatever the text, its first character is never one that starts a formula [F129]', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        const inside = csvLine([text]).slice(1, -3);
        expect(inside).not.toMatch(/^[\s]*[=+@＝＋＠]/u);
        expect(/^[\t\r]/.test(inside)).toBe(false);
      }),
    );
  });

  it('no formula begins behind a semicolon, by which Spanish and Portuguese spreadsheets separate cells, or in a new line [F129]', () => {
    // As such a spreadsheet reads a line: a cell that does not begin with a quotation mark ends at the next semicolon or break.
    const cellsOf = (line: string) =>
      line
        .slice(0, -2)
        .split(/[;\r\n]/)
        .slice(1);
    expect(cellsOf(csvLine(['sale', `moved;=HYPERLINK("x");y`, '; -1', 'why\n=1\r\n @b']))).toEqual([
      `'=HYPERLINK(""x"")`,
      `y","`,
      ` '-1","why`,
      `'=1`,
      '',
      ` '@b"`,
    ]);
    const pieces = fc.array(fc.oneof(anyText(), fc.constantFrom(';', '\r', '\n', '=', ' ', '"', '-', '\0')));
    fc.assert(
      fc.property(pieces, (parts) => {
        for (const inside of cellsOf(csvLine(['a', parts.join(''), 'b'])))
          expect(inside).not.toMatch(/^[\s"\0]*[=+@＝＋＠-]/u);
      }),
    );
  });

  it('one list of a report, with the outcomes as columns', () => {
    expect(reportCsv(report(), 'traffic')).toBe(
      '"operation","lane","calls","ok","business","auth","fault"\r\n"point.create_intent","orders",3,2,1,0,0\r\n',
    );
  });

  it('notices and verdicts by day, which the charts over time are drawn of', () => {
    const day = '2026-03-01';
    const days = report({
      notice_days: [{ day, made: 9, delivered: 4, pending: 3, stuck: 2, dead: 1 }],
      readiness_days: [{ day, ready: 3, inconclusive: 2, blocked: 1 }],
    });
    expect(reportCsv(days, 'notice_days')).toBe(
      '"day","made","delivered","pending","stuck","dead"\r\n"2026-03-01",9,4,3,2,1\r\n',
    );
    expect(reportCsv(days, 'readiness_days')).toBe('"day","ready","inconclusive","blocked"\r\n"2026-03-01",3,2,1\r\n');
    expect(reportCsv(report(), 'readiness_days')).toBe('"day","ready","inconclusive","blocked"\r\n');
  });
});

describe('HTML', () => {
  const htmlOf = (change?: Parameters<typeof report>[0]) => reportHtml(report(change), en);
  const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>';

  it('shows what tills and operators wrote as text alone, and reaches nothing [F126]', async () => {
    const html = await htmlOf({
      merchant_id: evil,
      decisions: [decision(1, evil)],
      errors: [{ operation: evil, lane: 'orders', status: 400, error: evil, calls: 1, sample: evil }],
      losses: [
        {
          operation: evil,
          table: evil,
          path: evil,
          why: evil,
          weight: 'other',
          advice: evil,
          count: 1,
          would_be_count: 1,
        },
      ],
    });
    expect(html).not.toContain('<script');
    expect(html).not.toContain('<img');
    expect(html).toContain('&lt;script&gt;');
    // Text inside an attribute's quotes is harmless, so it is removed first.
    expect(html.replace(/"[^"]*"/g, '""')).not.toMatch(/<[^>]+\s(src|href|on\w+)\s*=|url\(|@import/);
    expect(html).toContain("default-src 'none'");
  });

  it('says how many lines are not in a list, and the command that lists them', async () => {
    const { left_out } = report();
    const cut = (merchant_id: string | null, list: 'approvals' | 'unmatched') =>
      htmlOf({ merchant_id, left_out: { ...left_out, [list]: 7 } });
    const of = '--since 2026-03-01T00:00:00.000Z --until 2026-03-08T00:00:00.000Z --format csv --part';
    for (const list of ['approvals', 'unmatched'] as const) {
      const html = cut(null, list);
      expect(html).toContain('7 more are left out here');
      expect(html).toContain(`<code>puente report ${of} ${list}</code>`);
      expect(cut('700100200', list)).toContain(`<code>puente report 700100200 ${of} ${list}</code>`);
    }
  });

  it('keeps the first pages short: an annex has the whole of a long list', async () => {
    const one = (nth: number) => ({
      ...({ known_to: 'puente', state: 'open', kind: 'lost', found_at: '2026-03-02T00:00:00.000Z' } as const),
      ...{ merchant_id: '700100200', unit: null, id: `sale-${nth}.`, order_id: null, currency: 'ARS' },
      ...{ amount_minor: null, amount: null, what: 'lost', said: null },
      ...{ acknowledged_by: null, acknowledged_at: null, acknowledged_why: null },
    });
    const html = await htmlOf({ unmatched: Array.from({ length: 5 }, (_, nth) => one(nth)) });
    const [first = '', annexes = ''] = html.split('<h1 class="annexes">');
    expect([first.match(/>sale-\d+\./g)?.length, annexes.match(/>sale-\d+\./g)?.length]).toEqual([4, 5]);
    expect(first).toContain('1 more in the annexes.');
  });

  it('tells a fact in words: names without underscores, yes and no, two decimals at most', () => {
    const fact = { calls_a_day: 0.5714285714285714, override: false, note: '', seen: true, by: null, units: [] };
    expect(factText(fact)).toBe('calls a day 0.57, override no, note empty, seen yes, by none, units none');
  });

  it('shows of a decision from what to what it moved, and the evidence it rests on', async () => {
    const html = await htmlOf({ decisions: [decision(4, 'enough was seen')] });
    const cells = ['enough was seen', 'shadow → canary at 5 %'];
    const evidence = 'judgement (overridden no, missing none), evidence (verdict ready, samples (intents 120))';
    for (const cell of [...cells, `${evidence}</div>`]) expect(html).toContain(`>${cell}</td>`);
    const [, line] = reportCsv(report({ decisions: [decision(4, 'enough was seen')] }), 'decisions').split('\r\n');
    expect(line).toContain('"{""stage"":""shadow"",""share"":0}","{""stage"":""canary"",""share"":5}"');
    expect(line).toContain('""verdict"":""ready""');
  });

  it('says in words of each span between moves what began it, also where the list of decisions leaves that out', async () => {
    const span = { merchant_id: '1', since: '2026-03-02T09:00:00.000Z', until: '2026-03-03T00:00:00.000Z' };
    const summed = { what: 'sale', lane: 'orders', family: 'point', currency: 'ARS', outcome: 'paid' } as const;
    const paid = { ...summed, count: 1, without_amount: 0, amount_minor: '123450', amount: '1234.50' };
    const before = { stage: 'shadow', trip: { at: 1, why: '{"code":"safety.faults"}' } };
    const html = await htmlOf({ move_sums: [{ ...span, line: 2, before, after: { stage: 'canary' }, ...paid }] });
    expect(html).toContain('>shadow → canary</td>');
    expect(html).toContain('<code>puente report --format csv --part sales …</code>');
    const options = `--since ${span.since} --until ${span.until} --what sale --lane orders --family point --currency ARS`;
    expect(html).toContain(`<code>1 ${options} --outcome paid</code>`);
    expect(html).not.toContain('safety.faults');
    // Amounts stand below the end of their column's name.
    expect(html).toContain('<th scope="col" class="number">Amount</th>');
    expect(html).toContain('class="number"><span class="money">1,234.50 ARS</span></td>');
  });

  it('the settings have durations in words, on the screen and on paper', async () => {
    const assumptions = [
      { name: 'safety.window_ms', value: '300000', sentence: 'Judged together.', is_default: true },
      { name: 'notices.timeout_ms', value: '22000', sentence: 'Then it is retried.', is_default: false },
      { name: 'notices.horizon_ms', value: 'null', sentence: 'No end.', is_default: true },
    ];
    const html = await htmlOf({ assumptions });
    for (const text of ['5 min</td>', 'safety.window_ms: 5 min', '22 s</td>', 'notices.horizon_ms: null'])
      expect(html).toContain(text);
    expect(html).not.toMatch(/300000|22000/);
  });

  it('says of every empty list that it is empty, and draws what there is', async () => {
    const html = await htmlOf();
    expect(html.match(/None in this period/g)?.length).toBeGreaterThan(5);
    expect(html).toContain('role="img"');
    expect(html).toContain('point.create_intent');
  });
});

it('readiness of a day of which nothing was kept is what decisions rested on, the last of each merchant and day', () => {
  const on = (sequence: number, day: string, subject: string, verdict: string) => ({
    ...decision(sequence, 'its turn'),
    at: `2026-03-0${day}T10:00:00.000Z`,
    subject,
    evidence: { evidence: { verdict } },
  });
  const decisions = [
    on(9, '4', '1', 'ready'),
    on(8, '2', '2', 'ready'),
    on(7, '2', '1', 'inconclusive'),
    on(6, '2', '1', 'blocked'),
    { ...on(5, '1', '1', ''), evidence: { evidence: 'of another line' } },
  ];
  expect(verdictDays(decisions)).toEqual([
    { day: '2026-03-02', ready: 1, blocked: 0, inconclusive: 1 },
    { day: '2026-03-04', ready: 1, blocked: 0, inconclusive: 0 },
  ]);
});

it('quantiles are never below the true value, and at most an eighth above', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 3_600_000 }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.95, 0.99),
      (waits, share) => {
        const histogram = createHistogram();
        for (const wait of waits) addDuration(histogram, wait);
        const exact = waits.toSorted((a, b) => a - b)[Math.ceil(waits.length * share) - 1] ?? 0;
        const told = quantile(histogram, share);
        expect(told).toBeGreaterThanOrEqual(exact);
        expect(told).toBeLessThanOrEqual(Math.max(exact, exact * 1.125));
      },
    ),
  );
});

it('days without a call are listed between others, and neighbours put together where there are too many', () => {
  const on = (day: string) => ({ day, legacy: 2, orders: 1, faults: 1 });
  const empty = { day: '2026-03-01', legacy: 0, orders: 0, faults: 0 };
  expect(daySums([on('2026-02-28'), on('2026-03-02')])).toEqual([on('2026-02-28'), empty, on('2026-03-02')]);
  const year = daySums([on('2026-01-01'), on('2026-12-31')]);
  expect(year).toHaveLength(92);
  expect(year[0]).toEqual(on('2026-01-01'));
  expect(year.at(-1)).toMatchObject({ day: '2026-12-31', legacy: 2 });
});

it('waits are counted by doublings, whole milliseconds rounded up, without a gap between the shortest and the longest', () => {
  const tally = createTally();
  const waits = { legacy: [0, 0.4, 1, 1.5, 3], orders: [15, 15.2, 40] };
  for (const lane of ['legacy', 'orders'] as const) {
    for (const duration_ms of waits[lane])
      addExchange(tally, { ...newExchange({ lane, duration_ms }), sequence: 1, signatures: [] });
  }
  expect(waitLines(createTally())).toEqual([]);
  expect(waitLines(tally)).toEqual([
    { from_ms: 0, up_to_ms: 1, legacy: 3, orders: 0 },
    { from_ms: 2, up_to_ms: 3, legacy: 2, orders: 0 },
    { from_ms: 4, up_to_ms: 7, legacy: 0, orders: 0 },
    { from_ms: 8, up_to_ms: 15, legacy: 0, orders: 1 },
    { from_ms: 16, up_to_ms: 31, legacy: 0, orders: 1 },
    { from_ms: 32, up_to_ms: 63, legacy: 0, orders: 1 },
  ]);
});

describe('diff', () => {
  it('refuses what is no report, and two that are not about the same', () => {
    expect(() => readReport('{', 'a.json')).toThrow('a.json is no JSON');
    expect(() => readReport('{"schema":"other/1"}', 'a.json')).toThrow('a.json is no report');
    expect(() => diffReports(report(), report({ merchant_id: null }))).toThrow('compare two of the same');
  });

  it('tells changed sums, gone and new lines, and the decisions in between', () => {
    const before = report({ decisions: [decision(3, 'known before')] });
    const after = report({
      tables_revision: 'bbbbbbbbbbbb',
      traffic: [
        {
          operation: 'point.create_intent',
          lane: 'legacy',
          calls: 5,
          outcomes: { ok: 5, business: 0, auth: 0, fault: 0 },
        },
      ],
      decisions: [decision(3, 'known before'), decision(5, 'moved back')],
      merchants: [
        {
          ...{
            merchant_id: '9',
            name: null,
            site: 'MLA',
            stage: 'canary',
            share: 5,
            stopped: true,
            verdict: 'blocked',
            blockers: 2,
          },
          ...{ calls: 1, faults: 0, losses: 0, open_differences: 0 },
        },
      ],
    });
    const unsaid = { before_said: null, after_said: null };
    const facts = { stage: 'canary', share: 5, stopped: true, verdict: 'blocked', blockers: 2 };
    const canary = { ...unsaid, after_said: { code: 'compared.merchant', facts } };
    const diff = diffReports(before, readReport(JSON.stringify(after), 'b.json'));
    expect(diff.tables_revision).toEqual({ before: 'aaaaaaaaaaaa', after: 'bbbbbbbbbbbb' });
    expect(diff.changes).toEqual([
      { part: 'traffic', line: 'point.create_intent orders', before: 3, after: null, ...unsaid },
      { part: 'traffic', line: 'point.create_intent legacy', before: null, after: 5, ...unsaid },
      { part: 'merchants', line: '9', before: null, after: 'canary 5 %, stopped, blocked, 2 blockers', ...canary },
    ]);
    expect(diff.decisions.map(({ sequence }) => sequence)).toEqual([5]);
    expect(diffReports(before, before).changes).toEqual([]);
  });

  it('tells changed sums of sales, and none beside a report from before there were sums', () => {
    const sum = { what: 'sale', lane: 'orders', family: 'point', currency: 'ARS', outcome: 'paid' } as const;
    const paid = (count: number, amount: string) => {
      const sums = [{ ...sum, count, without_amount: 0, amount_minor: amount.replace('.', ''), amount }];
      return report({ sums });
    };
    const { changes } = diffReports(paid(2, '30.00'), paid(3, '90071992547409.93'));
    expect(changes).toMatchObject([
      { line: 'sale orders point ARS paid', before: 'count 2, sum 30.00', after: 'count 3, sum 90071992547409.93' },
    ]);
    const { sums: _sums, ...older } = paid(2, '30.00');
    expect(diffReports(readReport(JSON.stringify(older), 'old.json'), paid(3, '45.00')).changes).toEqual([]);
  });

  it('a sum of which no amount is known is no change beside one that an older build wrote as 0', () => {
    const sum = { what: 'refund', lane: 'legacy', family: 'payments', currency: null, outcome: 'refunded' } as const;
    const unknown = (money: { amount_minor: string | null; amount: string | null }, count = 2) =>
      report({ sums: [{ ...sum, count, without_amount: 2, ...money }] });
    const [zero, none] = [
      unknown({ amount_minor: '0', amount: '0.00' }),
      unknown({ amount_minor: null, amount: null }),
    ];
    expect([diffReports(zero, none).changes, diffReports(none, zero).changes]).toEqual([[], []]);
    // Two unknown amounts, and a known one of 0, are not the same.
    expect(diffReports(none, unknown({ amount_minor: '0', amount: '0.00' }, 3)).changes).toMatchObject([
      { before: 'count 2, sum none', after: 'count 3, sum 0.00' },
    ]);
  });

  it('tells what a receiver acknowledged and refused', () => {
    const told = (refused: number) => {
      const at = { last_delivered_at: null, last_refused_at: null, success_rate: 80, held: 0, late: 1 };
      return report({
        receivers: [{ merchant_id: '700100200', receiver: 'https://shop.example', delivered: 4, refused, ...at }],
      });
    };
    expect(diffReports(told(1), told(2)).changes).toMatchObject([
      {
        ...{ part: 'receivers', line: '700100200 https://shop.example' },
        before: '4 acknowledged, 1 of them late, 1 refused, 0 held back',
        after: '4 acknowledged, 1 of them late, 2 refused, 0 held back',
      },
    ]);
  });
});
