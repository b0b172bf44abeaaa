/** The readiness verdict case by case, refusals first: what blocks, what is unproven, the command for each. */
import { describe, expect, it } from 'vitest';
import { fieldsThatCame } from '../../../src/mapping/assemble.ts';
import { type Book, createBook } from '../../../src/ops/capture/book.ts';
import { type ReadinessFacts, readinessOf } from '../../../src/ops/readiness/readiness.ts';
import { type Exchange, endpointName } from '../../../src/proxy/evidence/exchange.ts';
import { nothingFound, recordedOf } from '../../../src/proxy/evidence/findings.ts';
import type { DifferenceSeen } from '../../../src/proxy/records/evidence.ts';
import { compareCreate, hasShadow, shadowOf } from '../../../src/proxy/shadow/shadow.ts';
import { type Create, RECEIVED_AT, tables, taskOf, tools } from '../../proxy/shadow/kit.ts';

const MERCHANT = '700100200';
const DAY_MS = 86_400_000;
const MIN_SAMPLE = 3;
const DEVICE = 'PAX_A910__SMARTPOS0000000001';

const intent: Create = {
  operation: 'point.create_intent',
  site: 'MLA',
  path: { device_id: DEVICE },
  body: { amount: 1500 },
};
const call = (operation: string): Create => ({ operation, site: 'MLA', path: {} });
const point = [
  intent,
  ...['point.get_intent', 'point.cancel_intent', 'point.list_devices', 'payments.create_refund'].map(call),
];
const sale: Create = {
  operation: 'qr.put_order',
  site: 'MLA',
  path: { user_id: MERCHANT, external_pos_id: 'SUC001POS001' },
  body: {
    external_reference: 'sale-1',
    title: 'Café',
    total_amount: 100,
    notification_url: 'https://till.example/n',
    items: [{ title: 'Café', unit_price: 100, quantity: 1, unit_measure: 'unit', total_amount: 100 }],
  },
};
const qr = [sale, ...['merchant_orders.get', 'qr.cancel_order', 'payments.create_refund'].map(call)];

let made = 0;
const LEGACY_ONLY = (areas: number): string[] => Array<string>(areas).fill('legacy_only');
const orders: Partial<Exchange> = { lane: 'orders', stage: 'canary' };
const conflict: Partial<Exchange> = { status: 409, error: 'busy', outcome: 'business' };
/** Records calls as the live recorder does: creates on the legacy lane with their shadow. */
function seen(book: Book, creates: readonly Create[], count = MIN_SAMPLE, changes: Partial<Exchange> = {}): void {
  for (const create of creates) {
    for (let index = 0; index < count; index++) {
      made++;
      const id = `01978a5c-0000-7000-8000-${String(made).padStart(12, '0')}`;
      const task = taskOf(create, { id, at: RECEIVED_AT + made, ...changes });
      const shadowed = task.exchange.lane === 'legacy' && task.exchange.stage !== 'legacy' && hasShadow(tables, task);
      const shadow = shadowed ? shadowOf(tools, task) : null;
      const difference = shadow === null ? null : compareCreate(tables, task, shadow);
      const differences = difference === null ? [] : [difference];
      const came = fieldsThatCame(tables, task.exchange.operation, task.request);
      const found = { ...nothingFound, came, differences, compared: shadowed };
      book.record(recordedOf(tables, { ...task.exchange, shadow }, found));
    }
  }
}

function bookOf(creates: readonly Create[] = point, count = MIN_SAMPLE): Book {
  const book = createBook();
  seen(book, creates, count);
  return book;
}

const facts: ReadinessFacts = {
  merchant_id: MERCHANT,
  merchant_name: null,
  now: RECEIVED_AT + DAY_MS,
  tables_revision: tables.revision,
  operations: tables.operations,
  isProxied: tables.isProxied,
  stage: 'shadow',
  unknown: { endpoint: 'allow', field: 'note', header: 'allow', write: 'allow' },
  notice_url: true,
  unacknowledged: null,
  credential: true,
  trips: {},
  in_doubt: 0,
  shed: { shadow: 0, evidence: 0 },
  fault_share: 10,
  on_orders: [],
  reset_at: {},
  mismatches: [],
  accepted: [],
  legacy_use: null,
};

async function judged(book: Book, changes: Partial<ReadinessFacts> = {}) {
  const readiness = await readinessOf(book, { ...facts, ...changes }, { min_sample: MIN_SAMPLE });
  const codes = (findings: readonly { code: string }[]): string[] => findings.map(({ code }) => code);
  return { ...readiness, blocked_by: codes(readiness.blockers), lacks: codes(readiness.unproven) };
}

function withDifference(change: Partial<DifferenceSeen>): Book {
  const book = bookOf();
  const { exchange } = taskOf(call('point.list_devices'), { id: 'with-difference' });
  const difference: DifferenceSeen = {
    signature: '00112233445566ff',
    operation: 'point.list_devices',
    what: 'value',
    path: 'devices[].pos_id',
    legacy: '7',
    orders: '0',
    ...change,
  };
  book.record(recordedOf(tables, exchange, { ...nothingFound, differences: [difference], compared: true }));
  return book;
}

function withUnknown(unknown: Exchange['unknown']): Book {
  const book = bookOf();
  const { exchange } = taskOf(call('point.list_devices'), { id: 'with-unknown', unknown });
  book.record(recordedOf(tables, exchange, nothingFound));
  return book;
}

describe('blocked', () => {
  it('by an order that would be refused where legacy took the sale, with the exact code and the count', async () => {
    const book = bookOf();
    seen(book, [{ ...intent, body: { amount: 100 } }]);
    const found = await judged(book);
    expect(found.verdict).toBe('blocked');
    expect(found.blocked_by).toEqual(['predicted_refusal']);
    expect(found.blockers[0]?.what).toMatch(/legacy accepted it 3 times, and orders would refuse it: 400 \w+/);
    expect(found.blockers[0]?.command).toMatch(/^puente differences show 700100200 [0-9a-f]{16}$/);
    expect(found.blockers[0]?.sample).toMatch(/^01978a5c-/);
  });

  it('by a sale that both sides refuse: not, and what they say differently is a remark', async () => {
    const book = bookOf();
    const wrong = { ...intent, body: { amount: -5 } };
    seen(book, [wrong], 1, { status: 400, error: 'something_else', outcome: 'business' });
    const found = await judged(book);
    expect(found.verdict).toBe('ready');
    expect(found.remarks.map(({ code }) => code)).toContain('error_difference');
  });

  it.each([
    [
      'a new difference of a value',
      withDifference({}),
      {},
      'open_difference',
      /differences show 700100200 00112233445566ff/,
    ],
    [
      'legacy refuses what orders takes',
      withDifference({ what: 'verdict', legacy: '400 bad_request', orders: 'accepted' }),
      {},
      'open_difference',
      /differences show/,
    ],
    [
      'a read that legacy answers and orders refuses',
      withDifference({ what: 'error', path: '', legacy: '2xx', orders: '4xx not_found' }),
      {},
      'open_difference',
      /differences show/,
    ],
    ['no credential', bookOf(), { credential: false }, 'no_credential', /merchants set 700100200 --credential/],
    [
      'an unknown field that is refused',
      withUnknown([{ what: 'field', name: 'body.tip' }]),
      { unknown: { endpoint: 'allow', field: 'refuse', header: 'allow' } },
      'unknown_refused',
      /merchants set 700100200 --unknown-field note/,
    ],
    [
      'an unknown endpoint that is refused',
      withUnknown([{ what: 'endpoint', name: 'GET /stores/:id' }]),
      { unknown: { endpoint: 'refuse', field: 'note', header: 'allow' } },
      'unknown_refused',
      /--unknown-endpoint note/,
    ],
    [
      'a write of sales that no table knows and the setting refuses',
      withUnknown([{ what: 'endpoint', name: endpointName('POST', `/point/integration-api/devices/${DEVICE}/sales`) }]),
      { unknown: { endpoint: 'allow', field: 'note', header: 'allow', write: 'refuse' } },
      'unknown_refused',
      /PUENTE_MERCHANTS_UNKNOWN_WRITE=allow/,
    ],
    [
      'a safety stop',
      bookOf(),
      {
        trips: {
          intents: {
            at: RECEIVED_AT,
            why: '9 of 20 calls failed.',
            evidence: { calls: 20, faults: 9, slow: 0, window_ms: 300_000, sample: null },
          },
        },
      },
      'safety_stop',
      /safety reset 700100200 --kind intents/,
    ],
  ] as [string, Book, Partial<ReadinessFacts>, string, RegExp][])(
    'by %s',
    async (_case, book, changes, code, command) => {
      const found = await judged(book, changes);
      expect(found.verdict).toBe('blocked');
      expect(found.blocked_by).toEqual([code]);
      expect(found.blockers[0]?.command).toMatch(command);
    },
  );

  it.each([
    ['PATCH', '/point/integration-api/integrator'],
    ['DELETE', `/point/integration-api/devices/${DEVICE}/refund/1234567890`],
    ['DELETE', `/point/integration-api/devices/${DEVICE}/refund/1234567890/`],
  ])('not by a documented write that makes no sale and is proxied: %s %s', async (method, path) => {
    const unknown = { endpoint: 'allow', field: 'note', header: 'allow', write: 'refuse' } as const;
    const found = await judged(withUnknown([{ what: 'endpoint', name: endpointName(method, path) }]), { unknown });
    expect(found.blocked_by).toEqual([]);
  });

  it('by a read that one side refuses, with a sentence that says which', async () => {
    const [legacy, other] = await Promise.all([
      judged(withDifference({ what: 'error', path: '', legacy: '2xx', orders: '4xx not_found' })),
      judged(withDifference({ what: 'error', path: '', legacy: '4xx not_found', orders: '2xx' })),
    ]);
    expect(legacy.blockers[0]?.what).toBe(
      'point.list_devices: legacy answered it once, and orders refused it: 4xx not_found',
    );
    expect(other.blockers[0]?.what).toBe(
      'point.list_devices: orders answered it once, and legacy refused it: 4xx not_found',
    );
    const both = await judged(withDifference({ what: 'error', path: '', legacy: '4xx a', orders: '4xx b' }));
    expect([both.verdict, both.remarks.map(({ code }) => code)]).toEqual(['ready', ['error_difference']]);
  });

  it('by faults on orders above the share, in the last days and of enough calls alone', async () => {
    const book = bookOf();
    seen(book, [intent], 4, {
      lane: 'orders',
      stage: 'orders',
      status: 502,
      error: 'internal_error',
      outcome: 'fault',
    });
    const found = await judged(book);
    expect(found.blocked_by).toEqual(['faults']);
    expect(found.blockers[0]?.what).toContain('4 of 4 calls of intents');
    expect(found.operations.find(({ operation }) => operation === 'point.create_intent')?.verdict).toBe('blocked');
    expect((await judged(book, { now: RECEIVED_AT + 9 * DAY_MS })).blocked_by).toEqual([]);
    expect((await judged(book, { fault_share: null })).blocked_by).toEqual([]);
    // An operator has reviewed the faults and reset the safety stop.
    expect((await judged(book, { reset_at: { intents: RECEIVED_AT + DAY_MS } })).blocked_by).toEqual([]);
    expect((await judged(book, { reset_at: { qr: RECEIVED_AT + DAY_MS } })).blocked_by).toEqual(['faults']);
  });

  it('by declines: never', async () => {
    const book = bookOf();
    seen(book, [intent], 9, {
      lane: 'orders',
      stage: 'orders',
      status: 400,
      error: 'cc_rejected',
      outcome: 'business',
    });
    expect((await judged(book)).verdict).toBe('ready');
  });
});

describe('inconclusive', () => {
  it('without any evidence: never green by default', async () => {
    const found = await judged(createBook(), { stage: 'legacy', notice_url: false, credential: false });
    expect(found.verdict).toBe('inconclusive');
    expect(found.lacks).toEqual(['no_creates']);
    expect(found.unproven[0]?.command).toBe('puente stage 700100200 shadow --reason …');
  });

  it('with reads alone: no create, nothing proven', async () => {
    const found = await judged(bookOf(point.slice(1)));
    expect(found.lacks).toEqual(['no_creates']);
    expect(found.unproven[0]?.what).toContain('12 calls of this merchant were seen and none to create a sale');
  });

  it('with creates that were all refused, however many: nothing was sold', async () => {
    const book = bookOf(point.slice(1));
    seen(book, [intent], 48, conflict);
    const found = await judged(book);
    expect([found.verdict, found.lacks]).toEqual(['inconclusive', ['no_creates']]);
    expect(found.unproven[0]?.what).toContain('48 calls to create a sale were made and none succeeded');
  });

  it('with refused creates beside a few good ones: each proves for itself alone', async () => {
    const book = bookOf(point, MIN_SAMPLE - 1);
    seen(book, [intent], 48, conflict);
    const found = await judged(book);
    expect(found.unproven[0]).toMatchObject({ code: 'too_few_calls', operation: 'point.create_intent' });
  });

  it.each(['point.get_intent', 'point.cancel_intent', 'payments.create_refund'])(
    'with %s that never succeeded',
    async (operation) => {
      const book = bookOf(point.filter((one) => one.operation !== operation));
      seen(book, [call(operation)], 24, { status: 404, error: 'not_found', outcome: 'business' });
      const found = await judged(book);
      expect([found.verdict, found.lacks.filter((code) => code !== 'legacy_only')]).toEqual([
        'inconclusive',
        ['never_seen'],
      ]);
      expect(found.unproven.find(({ code }) => code === 'never_seen')?.what).toMatch(
        /^24 calls of .+ were made, and none shows a success/,
      );
      expect(found.operations.find((one) => one.operation === operation)?.verdict).toBe('inconclusive');
    },
  );

  it('with searches of which nobody knows what they found; on orders those count that found a sale', async () => {
    const search = call('merchant_orders.search');
    const book = bookOf(qr.filter(({ operation }) => operation !== 'merchant_orders.get'));
    seen(book, [search], 22);
    seen(book, [search], 22, orders);
    expect((await judged(book)).lacks).toContain('never_seen');
    seen(book, [search], MIN_SAMPLE, { ...orders, fired: ['merchant_orders.get.answer#1'] });
    expect((await judged(book)).lacks).not.toContain('never_seen');
  });

  it('of what is on a canary: without successful reads, cancels and refunds on orders', async () => {
    const book = bookOf();
    seen(book, [intent], MIN_SAMPLE, orders);
    const canary: Partial<ReadinessFacts> = { stage: 'canary', on_orders: ['intents'] };
    const found = await judged(book, canary);
    expect([found.verdict, found.lacks]).toEqual(['inconclusive', ['not_on_orders', 'not_on_orders', 'not_on_orders']]);
    seen(book, point, MIN_SAMPLE, orders);
    expect(await judged(book, canary)).toMatchObject({ verdict: 'ready', unproven: [] });
    // A canary of another kind is proven by refunds alone.
    expect((await judged(bookOf(), { on_orders: ['qr'] })).lacks).toEqual([
      'legacy_only',
      'legacy_only',
      'not_on_orders',
    ]);
  });

  it('without a notice URL: nobody here knows whether the tills wait for notices', async () => {
    const found = await judged(bookOf(), { notice_url: false });
    expect([found.verdict, found.lacks.at(-1)]).toEqual(['inconclusive', 'no_notice_url']);
    expect(found.unproven.at(-1)?.command).toContain('merchants set 700100200 --notify');
  });

  it('with creates whose token was refused, or that failed: they show nothing', async () => {
    const book = createBook();
    seen(book, [intent], 9, { status: 401, error: 'unauthorized', outcome: 'auth' });
    seen(book, [intent], 9, { status: 503, error: 'internal_error', outcome: 'fault' });
    expect((await judged(book)).lacks).toEqual(['no_creates']);
  });

  it('while creates on legacy are not translated on paper', async () => {
    const book = bookOf(point.slice(1));
    seen(book, [intent], 9, { stage: 'legacy' });
    const found = await judged(book, { stage: 'legacy', credential: false });
    expect(found.verdict).toBe('inconclusive');
    expect(found.lacks).toEqual(['not_judged', ...LEGACY_ONLY(3)]);
    expect(found.unproven[0]?.what).toContain('9 calls of create of an intent were made, and the tables have judged 0');
  });

  it.each([
    ['read of an intent', 'point.get_intent'],
    ['cancel of an intent', 'point.cancel_intent'],
    ['device list', 'point.list_devices'],
    ['refund', 'payments.create_refund'],
  ])('without a %s: honest emptiness', async (says, missing) => {
    const found = await judged(bookOf(point.filter(({ operation }) => operation !== missing)));
    expect(found.verdict).toBe('inconclusive');
    const [lack, ...others] = found.unproven.filter(({ code }) => code !== 'legacy_only');
    expect([lack?.code, others]).toEqual(['never_seen', []]);
    expect(lack?.what).toContain(`No ${says} was ever seen`);
    expect(lack?.command).toBe('puente coverage 700100200');
    expect(lack?.operation).toBeNull(); // any operation of the area counts
  });

  it('stays old when all that came since was refused for its token, or failed', async () => {
    const book = bookOf();
    const at = RECEIVED_AT + 29 * DAY_MS;
    seen(book, [call('point.get_intent')], 9, { at, status: 401, error: 'unauthorized', outcome: 'auth' });
    seen(book, [call('point.get_intent')], 9, { at, status: 503, error: 'internal_error', outcome: 'fault' });
    expect((await judged(book, { now: RECEIVED_AT + 30 * DAY_MS })).lacks).toContain('old_evidence');
  });

  it('below the minimum sample, whatever the rest says', async () => {
    const found = await judged(bookOf(point, MIN_SAMPLE - 1));
    expect(found.verdict).toBe('inconclusive');
    expect(new Set(found.lacks)).toEqual(new Set(['too_few_calls']));
    expect(found.operations.every(({ verdict }) => verdict === 'inconclusive')).toBe(true);
  });

  it('when creates of another table were only tried', async () => {
    const book = bookOf([...point, ...qr]);
    seen(
      book,
      [
        {
          ...sale,
          operation: 'qr_v1.create',
          body: {
            external_reference: 'a',
            items: [{ title: 'Café', currency_id: 'ARS', unit_price: 100, quantity: 1 }],
          },
        },
      ],
      1,
    );
    const found = await judged(book);
    const held = found.unproven.filter(({ code }) => code !== 'legacy_only');
    expect(held).toMatchObject([{ code: 'too_few_calls', what: expect.stringContaining('create of a QR sale, v1') }]);
  });

  it.each([
    ['the evidence is old', { now: RECEIVED_AT + 30 * DAY_MS }, 'old_evidence'],
    ['the tables have changed since', { tables_revision: 'ffffffffffff' }, 'tables_changed'],
    ['a create is in doubt', { in_doubt: 1 }, 'in_doubt'],
    [
      'nothing is known but calls',
      { notice_url: null, credential: null, trips: null, in_doubt: null, unknown: null, stage: null, shed: null },
      'not_known',
    ],
  ] as [string, Partial<ReadinessFacts>, string][])('when %s', async (_case, changes, code) => {
    const found = await judged(bookOf(), changes);
    expect(found.verdict).toBe('inconclusive');
    expect(found.lacks).toEqual([...LEGACY_ONLY(3), code]);
    expect(found.unproven.at(-1)?.command).not.toBeNull();
  });
});

describe('beside sales that do not agree with upstream', () => {
  const mismatches = ['one', 'two'].map((subject) => ({ kind: 'amount' as const, unit: null, subject }));

  it('is never ready', async () => {
    const { verdict, unproven } = await judged(bookOf(), { mismatches });
    expect(verdict).toBe('inconclusive');
    expect(unproven.at(-1)).toMatchObject({
      code: 'mismatch_amount',
      command: 'puente sales disagreements one',
      what: expect.stringMatching(/2 sales/),
    });
  });
});

describe('on orders it is about completion', () => {
  const use = { open_on_legacy: 0, open_until: null, watched_days: 7, calls: [], units: [] };
  const quiet = { ...use, last_legacy_day: '2026-01-01', quiet_days: 7 };
  const recent = { ...quiet, quiet_days: 6, calls: [{ name: 'qr.put_order', calls: 1, last_day: '2026-01-01' }] };
  const until = '2026-01-09T00:00:00.000Z';
  const lost = { shadow: 0, evidence: 1 };

  it.each<[string, Partial<ReadinessFacts>, string[]]>([
    ['blocked', { legacy_use: { ...quiet, open_on_legacy: 1, open_until: until } }, ['legacy_open']],
    ['inconclusive', { legacy_use: recent }, ['legacy_calls']],
    ['inconclusive', { legacy_use: quiet, shed: lost }, ['legacy_unrecorded']],
    ['inconclusive', { legacy_use: quiet, in_doubt: 1 }, ['in_doubt']],
    [
      'inconclusive',
      { legacy_use: quiet, mismatches: [{ kind: 'missing', subject: 'one', unit: null }] },
      ['mismatch_missing'],
    ],
    ['ready', { legacy_use: quiet, shed: { shadow: 1, evidence: 0 } }, []],
    ['ready', { legacy_use: { ...use, last_legacy_day: null, quiet_days: null } }, []],
    [
      'inconclusive',
      { legacy_use: { ...use, last_legacy_day: null, quiet_days: null, watched_days: 6 } },
      ['watched_short'],
    ],
  ])('%s: %j', async (verdict, change, codes) => {
    const found = await judged(createBook(), change);
    expect([found.about, found.verdict, [...found.blocked_by, ...found.lacks]]).toEqual(['completion', verdict, codes]);
  });
});

describe('ready', () => {
  it.each([
    ['Point', point, 4, 3],
    ['QR', qr, 4, 3],
    ['both', [...point, ...qr], 8, 5],
  ])('with enough of everything that a merchant of %s does', async (_case, creates, operations, areas) => {
    const found = await judged(bookOf(creates));
    // Findings that only a canary can prove are listed, but do not block a canary.
    expect([found.verdict, found.blockers, found.lacks]).toEqual(['ready', [], LEGACY_ONLY(areas)]);
    expect(found.unproven[0]?.what).toMatch(
      /^\d+ calls of .+ succeeded, on legacy alone: on orders only a canary proves it\.$/,
    );
    expect(found.operations.length).toBeGreaterThanOrEqual(operations);
    expect(found.operations.every(({ verdict }) => verdict === 'ready')).toBe(true);
  });

  it('without a notice URL where every sale names its own', async () => {
    expect((await judged(bookOf(qr), { notice_url: false })).verdict).toBe('ready');
    const silent = { ...sale, body: { ...(sale.body as object), notification_url: undefined } };
    expect((await judged(bookOf([silent, ...qr.slice(1)]), { notice_url: false })).lacks).toContain('no_notice_url');
  });

  it('when something was shed or is not known to the tables: told, and not in the way', async () => {
    const found = await judged(withUnknown([{ what: 'field', name: 'body.tip' }]), {
      shed: { shadow: 3, evidence: 0 },
    });
    expect(found.verdict).toBe('ready');
    expect(found.lacks).toEqual([...LEGACY_ONLY(3), 'shed', 'unknown_noted']);
  });

  it('when a kind was only tried in vain: told, and not judged as used', async () => {
    const book = bookOf();
    seen(book, [sale], 1, { status: 503, error: 'gone', outcome: 'business' });
    const found = await judged(book);
    expect([found.verdict, found.lacks]).toEqual(['ready', LEGACY_ONLY(3)]);
    expect(found.remarks.map(({ code }) => code)).toEqual(['not_used']);
  });

  it('with losses as remarks, money first', async () => {
    const book = bookOf();
    seen(book, [{ ...intent, headers: { 'x-corporation-id': '9' }, body: { amount: 1500, tip: 100 } }]);
    const { verdict, remarks } = await judged(book);
    expect(verdict).toBe('ready');
    expect(remarks[0]).toMatchObject({ code: 'loss_money', command: 'puente losses --merchant 700100200' });
    expect(remarks[0]?.what).toContain('body.tip');
  });
});

it.each([
  [{ stage: 'legacy' }, 'Judged is the move from legacy to a canary.'],
  [{ stage: 'shadow' }, 'Judged is the move from shadow to a canary.'],
  [
    { stage: 'shadow', on_orders: ['qr'] },
    'Judged is, for QR, the move to orders, and for all other work the move to a canary.',
  ],
  [{ stage: 'canary', on_orders: ['devices', 'intents', 'qr'] }, 'Judged is the move from canary to orders.'],
  [{ stage: 'orders', on_orders: ['devices', 'intents', 'qr'] }, 'All its work is on orders: no move is left.'],
] satisfies [Partial<ReadinessFacts>, string][])('names the move that it judges: %j', async (changes, move) => {
  expect((await judged(createBook(), changes)).move).toBe(move);
});
