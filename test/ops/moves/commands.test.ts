/** The commands that move merchants, as operators and scripts run them, against a running Puente. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RampView } from '../../../src/ops/moves/ramp.ts';
import { ARGENTINA, BEN, BRAZIL, CHILE, clockOf, EVA, eventually, MEXICO, URUGUAY } from '../../kit.ts';
import { puente } from '../../run-cli.ts';
import { shift } from '../cli/golden.ts';
import { command } from './command.ts';
import { type MovesBench, startMoves } from './kit.ts';

const data_dir = mkdtempSync(join(tmpdir(), 'puente-moves-'));
const NOON = Date.parse('2026-11-18T12:00:00Z');
let now = NOON;
const clock = clockOf(() => now);

let bench: MovesBench;
beforeAll(async () => {
  bench = await startMoves({ PUENTE_DATA_DIR: data_dir }, { clock });
  // A merchant is seen from its first call on.
  for (const merchant of [ARGENTINA, BRAZIL, MEXICO, CHILE])
    await bench.till('/point/integration-api/devices', { merchant });
});
afterAll(() => bench.close());

const env = (person: { token: string }) => ({ PUENTE_OPS_TOKEN: person.token, PUENTE_OPS_URL: bench.app.ops_url });
const as = (person: { token: string }, ...argv: string[]) => command(argv, env(person));
const REASON = ['--reason', 'a test does it'];

describe('stage, rollback, drain', () => {
  it('a dry run says what is missing, and moves nothing', async () => {
    const { code, out } = await as(BEN, 'stage', ARGENTINA, 'canary', '--share', '5', '--dry-run');
    expect(out).toMatch(/move forward: refused/);
    expect(out).toContain('intents: legacy to canary 5 %');
    expect(out).toContain('skipped_stage');
    expect(out).toContain(`puente stage ${ARGENTINA} shadow`);
    expect(code).toBe(0);
    expect((await bench.stageOf()).revision).toBe(0);
  });

  it.each([
    [['stage', ARGENTINA, 'orders'], 2, '--reason'],
    [['stage', ARGENTINA, 'moon', ...REASON], 2, 'legacy, shadow, canary, orders, follow'],
    [['stage', ARGENTINA, 'canary', '--share', 'half', ...REASON], 2, 'A percentage such as 5 or 2.5'],
    [['stage', ARGENTINA, 'canary', ...REASON], 1, 'which share of them with --share'],
    [['stage', ARGENTINA, 'canary', '--share', '101', ...REASON], 1, 'a share is a percentage from 0 to 100'],
    [
      ['stage', ARGENTINA, 'canary', '--unit-in', 'PAX', ...REASON],
      1,
      'a unit is written point:<terminal> or qr:<point',
    ],
    [['stage', ARGENTINA, 'shadow', '--reason', 'no'], 1, 'reason: say why, in 3 to 500 characters'],
    [['stage', ARGENTINA, 'orders', ...REASON], 1, 'An approver can override it, with --override.'],
    [['rollback', ARGENTINA], 2, '--reason'],
  ])('%j exits with %i', async (argv, exit, says) => {
    const { code, err } = await as(BEN, ...argv);
    expect(err).toContain(says);
    expect(code).toBe(exit);
  });

  it('moves, takes back, and shows what is open', async () => {
    const moved = await puente(['stage', ARGENTINA, 'shadow', ...REASON], { env: env(BEN) }); // a real process
    expect([moved.code, moved.out]).toEqual([0, expect.stringContaining('intents: legacy to shadow')]);
    expect(moved.out.split('\n')[0]).toBe(`merchant ${ARGENTINA} is moved: stage shadow, revision 1`);
    expect(moved.out).not.toContain('qr_notices');
    const back = await as(BEN, 'rollback', ARGENTINA, ...REASON);
    expect([back.code, back.out]).toEqual([0, expect.stringContaining('Nothing is open on orders.')]);
    const drain = await as(BEN, 'drain', ARGENTINA, '--watch', '--json');
    expect(JSON.parse(drain.out)).toMatchObject({ merchant_id: ARGENTINA, orders: { open: 0 }, legacy: { open: 0 } });
  });
});

describe('bulk', () => {
  it('moves the merchants of a file within the day, goes on after a restart, and follows', async () => {
    const file = join(data_dir, 'wave.txt');
    writeFileSync(file, `# wave 3\n${BRAZIL}\n${MEXICO} canary 5 # too early\n\n${CHILE}\n`);
    const started = await as(
      BEN,
      'bulk',
      'start',
      '--file',
      file,
      '--stage',
      'shadow',
      '--per-day',
      '1',
      ...REASON,
      '--json',
    );
    const { id } = JSON.parse(started.out) as { id: string };
    const shown = async () => JSON.parse((await as(BEN, 'bulk', 'show', id, '--json')).out);
    await eventually(shown, ({ detail }) => String(detail).startsWith('1 of 1 moves of today'));
    expect((await shown()).items).toMatchObject([{ state: 'moved' }, { state: 'waiting' }, { state: 'waiting' }]);
    await bench.close();
    bench = await startMoves({ PUENTE_DATA_DIR: data_dir }, { clock });
    expect((await shown()).state).toBe('running');
    now += 86_400_000;
    const { code, out } = await as(BEN, 'bulk', 'show', id, '--follow');
    expect(out).toMatch(/done, 2 moved, 0 proposed, 1 refused, 0 skipped, 0 waiting, at most 1 a day/);
    expect(out).toMatch(new RegExp(`${MEXICO}.*refused`));
    expect(code).toBe(1);
    expect([(await bench.stageOf(CHILE)).stage, (await bench.stageOf(MEXICO)).stage]).toEqual(['shadow', 'legacy']);
  });

  it('selects by stage and verdict, and is aborted', async () => {
    const where = ['--where', 'stage=shadow', '--where', 'verdict=inconclusive'];
    const none = await as(BEN, 'bulk', 'start', '--where', 'verdict=ready', '--stage', 'shadow', ...REASON);
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('No merchant matches')]);
    const bad = await as(BEN, 'bulk', 'start', ...where, '--file', 'x', '--stage', 'legacy', ...REASON);
    expect([bad.code, bad.err]).toEqual([1, expect.stringContaining('Name merchants, --where, or a --file alone')]);
    await bench.move({ stage: 'shadow' }, EVA, URUGUAY);
    const ask = ['--where', 'stage=shadow', '--stage', 'legacy', '--per-day', '1', ...REASON, '--json'];
    const started = await as(BEN, 'bulk', 'start', ...ask);
    const bulk = JSON.parse(started.out) as { id: string; items: { merchant_id: string }[] };
    expect(bulk.items.map(({ merchant_id }) => merchant_id)).toEqual([BRAZIL, CHILE, URUGUAY]);
    const aborted = await as(BEN, 'bulk', 'abort', bulk.id, ...REASON);
    expect(aborted.out).toMatch(/: aborted, .*[23] skipped/);
    expect(aborted.out).toContain('aborted before its turn');
    const list = await as(BEN, 'bulk', 'list');
    expect(list.out).toMatch(new RegExp(`${bulk.id}.*aborted`));
    // A script that follows it goes on to the next wave only if all are moved; one that shows it has been shown it.
    expect((await as(BEN, 'bulk', 'show', bulk.id, '--follow')).code).toBe(1);
    expect((await as(BEN, 'bulk', 'show', bulk.id)).code).toBe(0);
  });
});

describe('brown-outs', () => {
  const schedule = (from: number, until: number, merchants = [ARGENTINA, BRAZIL]) =>
    as(EVA, 'brownout', 'schedule', ...merchants, '--from', iso(from), '--until', iso(until), ...REASON, '--json');

  it('are refused when they end before they begin, are over, too long, or overlap', async () => {
    expect((await schedule(now + 2000, now + 1000)).err).toContain('until must be later than from');
    expect((await schedule(now - 2000, now)).err).toContain('has ended already');
    expect((await schedule(now, now + 86_400_001)).err).toContain('24 hours at most');
    expect((await schedule(now, now + 3_600_000)).code).toBe(0);
    const other = await schedule(now + 1_800_000, now + 7_200_000, [`${CHILE},${BRAZIL}`]);
    expect(other.err).toContain(`Merchant ${BRAZIL} has a brown-out`);
    const { brownouts } = (await bench.as(BEN, 'GET', '/api/brownouts')).body as { brownouts: object[] };
    expect(brownouts).toMatchObject([{ state: 'running', merchants: [ARGENTINA, BRAZIL] }]);
    expect(
      (await as(BEN, 'brownout', 'schedule', CHILE, '--from', iso(now), '--until', iso(now + 1), ...REASON)).err,
    ).toContain('needs the role approver');
  });

  it('are aborted at once, for all, and then there is room for another', async () => {
    const { brownouts } = (await bench.as(BEN, 'GET', '/api/brownouts')).body as { brownouts: { id: string }[] };
    const id = brownouts[0]?.id ?? '';
    expect((await as(BEN, 'brownout', 'abort', id, ...REASON)).out).toContain(`is aborted for ${ARGENTINA}, ${BRAZIL}`);
    expect((await as(BEN, 'brownout', 'abort', id, ...REASON)).err).toContain('is aborted already');
    expect((await schedule(now, now + 1000)).code).toBe(0);
    expect((await as(BEN, 'brownout', 'list')).out).toMatch(new RegExp(`${id}.*aborted`));
  });
});

describe('settings and safety', () => {
  it('sets what migration needs, shows it, and refuses what makes no sense', async () => {
    const set = await as(
      BEN,
      ...['merchants', 'set', ARGENTINA, '--safety-stop', 'armed', '--unknown-endpoint', 'refuse', '--capture', 'on'],
      ...['--deprecated', '2026-12-01T00:00:00Z', '--sunset', '2027-06-30T00:00:00Z', ...REASON, '--json'],
    );
    expect(JSON.parse(set.out)).toMatchObject({
      settings: {
        safety_stop: { value: 'armed', from: 'merchant' },
        unknown_endpoint: { value: 'refuse' },
        unknown_field: { value: 'note', from: 'default' },
        capture: { value: true },
        deprecation: { value: { sunset_at: Date.parse('2027-06-30T00:00:00Z'), link: null } },
      },
    });
    const early = await as(BEN, 'merchants', 'set', ARGENTINA, '--sunset', '2026-11-30T00:00:00Z', ...REASON);
    expect(early.err).toContain('the sunset must not be before the deprecation');
    for (const wrong of ['2027-02-30T00:00:00Z', '2027-12-31T00:00', '2027-12-31', 'soon']) {
      const { code, err } = await as(BEN, 'merchants', 'set', ARGENTINA, '--sunset', wrong, ...REASON);
      expect([wrong, code, err]).toEqual([wrong, 2, expect.stringContaining('such as 2026-01-31T09:00:00Z')]);
    }
    for (const at of ['2027-12-31 03:00:00 UTC', '2027-12-31T00:00:00-03:00']) {
      const { out } = await as(BEN, 'merchants', 'set', ARGENTINA, '--sunset', at, ...REASON, '--json');
      expect(JSON.parse(out)).toMatchObject({
        settings: { deprecation: { value: { sunset_at: Date.parse('2027-12-31T03:00:00Z') } } },
      });
    }
    const off = await as(
      BEN,
      'merchants',
      'set',
      ARGENTINA,
      '--no-deprecation',
      '--capture',
      'default',
      ...REASON,
      '--json',
    );
    expect(JSON.parse(off.out).settings).toMatchObject({ deprecation: { value: null }, capture: { from: 'default' } });
  });
});

it('each sentence of ramps and of a rollback by alert is in a golden file', async () => {
  const SHOP = '700109001';
  now = NOON + 86_400_000 * 7;
  await bench.move({ stage: 'shadow' }, EVA, SHOP);
  await bench.notify(SHOP, { tags: ['wave-2'] });
  const { ben, golden } = shift({ on: bench });
  const ramp = 'ramp --where tag=wave-2 --steps 5,25,100 --soak 2h --min-sales 50';
  await ben(`${ramp} --dry-run`);
  const [id = ''] = /[0-9a-f-]{36}/.exec(await ben(`${ramp} --reason "a test does it"`)) ?? [];
  const isHeld = ({ merchants: [shop] }: RampView): boolean => shop?.why !== '';
  await eventually(async () => (await bench.as(BEN, 'GET', `/api/ramps/${id}`)).body as RampView, isHeld); // the row's answer
  for (const line of [
    ramp.replace('2h', '"2 h"'),
    ramp.replace('5,25', '5,,25'),
    `ramps list --merchant ${SHOP}`,
    `ramps show ${id}`,
    `ramps show ${id} ${SHOP}`,
    ...['approve', 'pause', 'resume', 'cancel'].map((act) => `ramps ${act} ${id} --reason "a test does it"`),
    `ramps list --merchant ${SHOP}`,
    `rollback-by-alert TillsFail ${SHOP},700109999`,
    'rollback-by-alert TillsFail',
  ])
    await ben(line);
  await golden('ramps');
});

function iso(at: number): string {
  return new Date(at).toISOString();
}
