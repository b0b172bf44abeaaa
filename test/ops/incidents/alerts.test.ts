/** Incidents open and close with what stands, and each goes out as a signed alert: once when it opens, grows tenfold, and closes. */
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { partsOf, readStored } from '../../../src/locales/message.ts';
import { loadWords } from '../../../src/locales/words.ts';
import {
  type Alerting,
  type AlertReceiver,
  alertPause_ms,
  alertRequest,
  startAlerting,
} from '../../../src/ops/incidents/alerts.ts';
import type { Store } from '../../../src/ops/ports.ts';
import type { OutboundPolicy } from '../../../src/proxy/notices/guard.ts';
import { createProcessMemory } from '../../../src/proxy/process-memory.ts';
import {
  conditionKinds,
  type IncidentKind,
  incidentKinds,
  MOST_COUNTED,
} from '../../../src/proxy/records/incidents.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { type Delivery, type Receiver, startReceiver } from '../../kit.ts';
import {
  attempt,
  auditOf,
  DAY_MS,
  finished,
  MERCHANT,
  MINUTE_MS,
  NOON,
  newMerchant,
  newNotice,
  OTHER_MERCHANT,
  opened,
} from '../../store/contract/harness.ts';
import { openOwnStore } from '../../store/sqlite/kit.ts';

const SECRET = 'secret-of-the-tests-receiver';
const PRIVATE: OutboundPolicy = { allow_private: true, allow_http: true, ports: [443], own_hosts: [] };
const log = { debug() {}, info() {}, warn() {}, error() {} };

let store: Store;
let now = NOON;
let receiver: Receiver;
let status = 200;
let running: Alerting[] = [];

beforeEach(async () => {
  [now, status, running] = [NOON, 200, []];
  store = await openOwnStore({ now: () => now });
  receiver = await startReceiver(() => status);
});
afterEach(async () => {
  await Promise.all(running.map((one) => one.stop()));
  await store.close();
  await receiver.close();
});

function start(
  kinds: readonly IncidentKind[] = conditionKinds,
  policy = PRIVATE,
  more: Record<string, AlertReceiver> = {},
): Alerting {
  const clock = { now: () => now, sleep: async () => undefined };
  const settings = { moves: { proposal_kept_ms: 3 * DAY_MS } };
  const ports = { settings, store, clock, log, count() {}, memory: createProcessMemory({ now: clock.now }) };
  const ops = { url: new Secret(receiver.url), secret: new Secret(SECRET), kinds };
  const other = { ...ops, url: new Secret(`${receiver.url}/other`), kinds: ['mismatch'] as const };
  const alerting = startAlerting(ports, { receivers: { ops, other, ...more }, language: 'en' }, policy, 'Puente');
  running.push(alerting);
  return alerting;
}

interface Told {
  id: string;
  event: string;
  text: string;
  incident: { kind: string; merchant: string; count: number; state: string; reason: string } | null;
}
const told = ({ body }: Delivery): Told => body as Told; // as alertRequest writes it

/** As docs/operations.md says a receiver does. */
function isSigned({ headers, text }: Delivery): boolean {
  const digest = createHmac('sha256', SECRET).update(`${headers['puente-timestamp']}.${text}`).digest('hex');
  return headers['puente-signature'] === `sha256=${digest}`;
}

const trip = {
  at: NOON,
  why: 'Nine of fifty.',
  evidence: { calls: 50, faults: 9, slow: 0, window_ms: 1, sample: null },
};
const proposal = {
  id: 'move',
  merchant_id: MERCHANT,
  move: {},
  reason: 'why',
  proposed_by: 'ben',
  proposed_at: NOON,
  expires_at: NOON + 90 * MINUTE_MS,
  decided_by: null,
  decided_at: null,
};

/** Makes a condition stand, and returns what ends it. */
const standing: Record<(typeof conditionKinds)[number], () => Promise<() => Promise<unknown>>> = {
  async safety_stop() {
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    await store.merchants.saveTrips(MERCHANT, { qr: trip }, 1, auditOf('trip'));
    return () => store.merchants.saveTrips(MERCHANT, { qr: null }, 2, auditOf('reset'));
  },
  async create_in_doubt() {
    const link = await opened(store);
    return () => store.links.saveLink(link, { state: 'NOT_SENT', next_check_at: null });
  },
  async paid_unacknowledged() {
    const link = await finished(store);
    const paid = await store.links.saveLink(link, { order: { id: 'ORD1', status: 'processed' } });
    return () => store.links.saveLink(paid, { known_by: 'till' });
  },
  async notices_stuck() {
    const link = await finished(store, {}, NOON);
    await store.links.saveLink(link, { known_by: 'till' }, { notices: [newNotice(link, 'paid')] });
    const [notice] = await store.notices.dueNotices(now, 1);
    if (notice === undefined) throw new Error('no notice is due');
    const next = { state: 'delivered', next_attempt_at: now } as const;
    return () => store.notices.recordAttempt(notice, attempt('delivered', 200), next);
  },
  async move_waiting() {
    await store.moves.saveProposal({ ...proposal, state: 'waiting' }, null);
    return () => store.moves.saveProposal({ ...proposal, state: 'withdrawn' }, null);
  },
};

describe('an incident', () => {
  it.each(conditionKinds)(
    '%s goes out once, signed, whatever restarts meanwhile, and once more when it is over',
    async (kind) => {
      const end = await standing[kind]();
      now += 20 * MINUTE_MS;
      await start().look();
      const [opening] = await receiver.waitFor(1);
      if (opening === undefined) throw new Error('nothing was received');
      expect([isSigned(opening), told(opening)]).toMatchObject([
        true,
        { event: 'opened', incident: { kind, merchant: MERCHANT, count: 1, state: 'open' } },
      ]);
      expect(told(opening).text).toContain(`merchant ${MERCHANT}`);
      await Promise.all(running.map((one) => one.stop()));
      const again = start();
      await again.look();
      await end();
      await again.look();
      const all = await receiver.waitFor(2);
      expect(all.map((one) => [told(one).event, told(one).incident?.kind, isSigned(one)])).toEqual([
        ['opened', kind, true],
        ['recovered', kind, true],
      ]);
      const [opened, over] = all.map((one) => told(one).incident?.reason);
      // That of a safety stop says what was done, in the past already.
      expect(over).toBe(kind === 'safety_stop' ? opened : `Over now; it was: ${opened}`);
      expect(all.map((one) => told(one).text.includes('Over now'))).toEqual([false, false]);
      await end().catch(() => undefined);
      await again.look();
      expect(await store.incidents.incidents({ is_open: true }, 9)).toEqual([]);
      expect(receiver.received.every(({ path }) => path === '/notices')).toBe(true);
    },
  );

  it('of lines of the audit is one for its merchant and kind, and needs a person where only a person can tell', async () => {
    const line = (action: string, detail = {}) =>
      store.audit.appendAudit({
        ...auditOf(action, { merchant: MERCHANT, ...detail }),
        who: 'puente',
        subject: 'ORD1',
      });
    for (const action of ['mismatch amount', 'mismatch amount', 'mismatch state', 'settle', 'stage'])
      await line(action);
    for (const ramp of ['first', 'second', 'second']) await line('ramp paused', { ramp });
    await line('mismatch stale', { repaired: true });
    const alerting = start();
    await alerting.look();
    await alerting.look();
    const listed = async () =>
      (await store.incidents.incidents({}, 9)).map(({ kind, subject, count, closed_at }) => [
        kind,
        subject,
        count,
        closed_at !== null,
      ]);
    expect((await listed()).toSorted()).toEqual([
      ['bulk_stopped', 'first', 1, false],
      ['bulk_stopped', 'second', 2, false],
      ['mismatch', 'amount', 2, false],
      ['mismatch', 'state', 1, false],
      ['settlement', '', 1, false],
    ]);
    const paused = await store.incidents.incidents({ kind: 'bulk_stopped' }, 9);
    expect(paused.every(({ sample, subject }) => sample === subject)).toBe(true);
    now += 61 * MINUTE_MS;
    await alerting.look();
    expect((await listed()).filter(([, , , is_closed]) => is_closed)).toEqual([['settlement', '', 1, true]]);
    expect((await receiver.waitFor(2)).map(({ path }) => path)).toEqual(['/notices/other', '/notices/other']);
    await store.upkeep.eraseMerchant(MERCHANT, (gone) => auditOf('erase', { ...gone }));
    await alerting.look();
    expect(await listed()).toEqual([]);
  });
});

/** Notices of so many sales of a merchant that no receiver acknowledges. */
async function stuck(count: number, merchant_id = MERCHANT): Promise<void> {
  for (let one = 0; one < count; one++) {
    const link = await finished(store, { merchant_id }, NOON);
    await store.links.saveLink(link, { known_by: 'till' }, { notices: [newNotice(link, 'paid')] });
  }
}

describe('an open incident', () => {
  const heard = () => receiver.received.map((one) => [told(one).event, told(one).incident?.merchant, told(one).text]);

  it('goes out again when it has grown tenfold, or affects another merchant; else once', async () => {
    await stuck(1);
    now += 20 * MINUTE_MS;
    const alerting = start();
    await alerting.look();
    await receiver.waitFor(1);
    await stuck(8);
    await alerting.look();
    await stuck(1);
    await alerting.look();
    await receiver.waitFor(2);
    await stuck(20);
    await stuck(1, OTHER_MERCHANT);
    await alerting.look();
    await receiver.waitFor(3);
    await alerting.look();
    await stuck(70);
    await alerting.look();
    await receiver.waitFor(4);
    expect(heard()).toEqual([
      ['opened', MERCHANT, expect.stringContaining('One notice waits')],
      ['grown', MERCHANT, expect.stringMatching(/grown to 10: stuck notices, .*10 notices wait/)],
      ['opened', OTHER_MERCHANT, expect.stringContaining('One notice waits')],
      ['grown', MERCHANT, expect.stringMatching(/grown to 100: stuck notices, .*100 notices wait/)],
    ]);
    expect(new Set(receiver.received.map((one) => told(one).id)).size).toBe(4);
  });

  it('says that it counts no further', async () => {
    const link = await finished(store, {}, NOON);
    const notices = Array.from({ length: MOST_COUNTED + 1 }, (_, one) =>
      newNotice(link, 'x', { subject: String(one) }),
    );
    await store.links.saveLink(link, { known_by: 'till' }, { notices });
    now += 20 * MINUTE_MS;
    await start().look();
    await receiver.waitFor(1);
    expect(heard()).toEqual([['opened', MERCHANT, expect.stringContaining('1,000 or more notices wait')]]);
    const kinds = ['paid_unacknowledged', 'unwatched', 'notices_stuck'];
    const facts = { count: MOST_COUNTED, hours: 24, since_at: '2026-01-05T12:00:00Z', id: 'one-of-them' };
    for (const words of Object.values(loadWords()))
      for (const kind of kinds)
        expect(partsOf(words, '', { code: `incident.${kind}`, facts }).join('')).toMatch(
          /^1[.,]000.* (or more|o más|ou mais)/,
        );
  });

  it('whose last alert is not delivered yet is not announced twice: the alert names the count of its time', async () => {
    status = 503;
    await stuck(1);
    now += 20 * MINUTE_MS;
    const alerting = start();
    await alerting.look();
    await receiver.waitFor(1);
    await stuck(11);
    await alerting.look();
    expect(await store.incidents.alertsOf('ops')).toMatchObject({ waiting: 1 });
    status = 200;
    now += MINUTE_MS;
    await alerting.look();
    await receiver.waitFor(2);
    expect(heard().at(-1)).toEqual(['opened', MERCHANT, expect.stringContaining('12 notices wait')]);
  });

  it('of paid sales that are too old to be watched closes as that, and as recovered when their tills know them', async () => {
    const paidAt = async (at: number) => {
      const link = await finished(store, {}, at);
      return store.links.saveLink(link, { order: { id: `ORD${link.legacy_id}`, status: 'processed' } });
    };
    const old = await paidAt(NOON);
    now += 20 * MINUTE_MS;
    const alerting = start();
    await alerting.look();
    await receiver.waitFor(1);
    now = NOON + DAY_MS - MINUTE_MS;
    const known = await paidAt(NOON + DAY_MS - 10 * MINUTE_MS);
    await alerting.look();
    now = NOON + DAY_MS;
    await store.links.saveLink(known, { known_by: 'till' });
    await alerting.look();
    await receiver.waitFor(2);
    const late = await paidAt(NOON + DAY_MS);
    now += 10 * MINUTE_MS;
    await alerting.look();
    await receiver.waitFor(3);
    await store.links.saveLink(late, { known_by: 'till' });
    await alerting.look();
    await receiver.waitFor(4);
    const why =
      /^One sale was paid more than 24 hours ago, and its till still does not know it.*no longer watches it; see why with `puente trace (\S+)`\.$/;
    expect(heard()).toEqual([
      ['opened', MERCHANT, expect.stringMatching(`One sale is paid.*\`puente trace ${old.legacy_id}\`\\.`)],
      ['unwatched', MERCHANT, expect.stringMatching(/no longer watched, and not known to be over: paid.*24 hours ago/)],
      ['opened', MERCHANT, expect.stringContaining('One sale is paid')],
      ['recovered', MERCHANT, expect.stringContaining('recovered: paid')],
    ]);
    const [, unwatched] = await store.incidents.incidents({}, 9);
    const traced = why.exec(readStored(unwatched?.reason ?? '').text)?.[1];
    expect([unwatched?.count, unwatched?.sample, traced]).toEqual([1, old.legacy_id, old.legacy_id]);
  });
});

it('one receiver that does not answer delays no alert of another', async () => {
  let release = (_status: number): void => undefined;
  let answered = false;
  const hung = new Promise<number>((resolve) => {
    release = resolve;
  });
  const slow = await startReceiver(async () => {
    const code = await hung;
    answered = true;
    return code;
  });
  await stuck(1);
  now += 20 * MINUTE_MS;
  const alerting = start(conditionKinds, PRIVATE, {
    slow: { url: new Secret(slow.url), secret: new Secret(SECRET), kinds: conditionKinds },
  });
  await alerting.look();
  await receiver.waitFor(1);
  for (const merchant of ['700200300', '700200301', '700200302']) {
    await stuck(1, merchant);
    await alerting.look();
  }
  await receiver.waitFor(4);
  expect([slow.received.length, answered]).toEqual([1, false]);
  release(200);
  await slow.waitFor(4);
  await slow.close();
});

describe('an alert that is not delivered', () => {
  it('is tried again after growing pauses, holds back the later ones of its incident, and is given up', async () => {
    expect([1, 2, 3, 4, 12].map(alertPause_ms)).toEqual([5_000, 15_000, 45_000, 135_000, 3_600_000]);
    const end = await standing.move_waiting();
    status = 503;
    const alerting = start();
    await alerting.look();
    await receiver.waitFor(1);
    await end();
    for (let attempts = 2; attempts <= 12; attempts++) {
      now += 10_000 + alertPause_ms(attempts);
      await alerting.look();
      await receiver.waitFor(attempts);
    }
    expect(new Set(receiver.received.map((one) => told(one).id)).size).toBe(1);
    status = 204;
    now += MINUTE_MS;
    await alerting.look();
    expect(told((await receiver.waitFor(13))[12] as Delivery)).toMatchObject({ event: 'recovered' }); // waitFor has 13
  });

  it('may be for an address that the guard refuses: nothing is sent, and the receivers say why', async () => {
    await standing.move_waiting();
    const alerting = start(conditionKinds, { ...PRIVATE, allow_private: false, allow_http: false });
    await alerting.look();
    const [test] = await alerting.test('ops', 'why', 'ana');
    expect([test?.is_delivered, test?.detail]).toEqual([false, expect.stringContaining('https://')]);
    expect(await alerting.receivers()).toMatchObject([
      { receiver: 'ops', refused: expect.stringContaining('https://') },
      {},
    ]);
    expect(receiver.received).toEqual([]);
    await expect(alerting.test('nobody', 'why', 'ana')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('the request of an alert', () => {
  const reason =
    'The card 4509 9535 6623 3704 and APP_USR-4004001-112026-00000000000000000000000000000a01-700100200 & <all>.';
  const at = new Date(NOON).toISOString();
  const incident = {
    id: 'i',
    kind: 'mismatch',
    merchant: MERCHANT,
    name: 'Café Sur',
    subject: 'amount',
    state: 'open',
    opened_at: at,
    last_at: at,
    closed_at: null,
    closed_by: null,
    count: 1,
    sample: null,
    reason,
    said: null,
  } as const;
  const message = { id: 'a', event: 'opened', incident } as const;
  const secret = new Secret(SECRET);

  it.each(['https://hooks.slack.com/services/T000/B000/invented', 'https://ops.example/alerts'])(
    'to %s has no card number, token or secret in it',
    (url) => {
      const { body, headers } = alertRequest(message, { url: new Secret(url), secret }, 'en', NOON);
      for (const hidden of ['4509 9535 6623 3704', '00000000000a01', SECRET]) expect(body).not.toContain(hidden);
      const is_slack = url.includes('slack');
      expect(Object.keys(JSON.parse(body))).toEqual(is_slack ? ['text'] : ['id', 'event', 'text', 'incident']);
      expect(body.includes('&amp; &lt;all&gt;')).toBe(is_slack);
      expect('puente-signature' in headers).toBe(!is_slack);
    },
  );

  it('has its text in the language that is set, for every kind', () => {
    const texts = (['en', 'es', 'pt'] as const).map((language) =>
      incidentKinds.map((kind) => {
        const one = { ...message, incident: { ...incident, kind, reason: 'x' } };
        return JSON.parse(alertRequest(one, { url: new Secret('https://ops.example'), secret }, language, NOON).body)
          .text;
      }),
    );
    expect(texts.map(([first]) => first)).toEqual([
      `Puente: safety stop, merchant ${MERCHANT} (Café Sur). x`,
      `Puente: parada de seguridad, comercio ${MERCHANT} (Café Sur). x`,
      `Puente: parada de segurança, lojista ${MERCHANT} (Café Sur). x`,
    ]);
    expect(texts.flat().filter((text) => /[a-z]_[a-z]/.test(text))).toEqual([]);
  });
});
