/** Hours without upstream or webhooks: nothing is lost, the backlog drains at its pace, payments go first. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { eventually, POINT, startReceiver } from '../kit.ts';
import { openForAll } from '../open.ts';
import { idOf } from '../proxy/http/till.ts';
import { openOutage } from './outage-stand.ts';

const PER_SECOND = 40;
const SALES = 60;
const PAID = 40;
const HOUR_MS = 3_600_000;

const receiver = openForAll(() => startReceiver());
const outage = openForAll(() =>
  openOutage({
    PUENTE_RECONCILE_CALLS_PER_SECOND: String(PER_SECOND),
    PUENTE_RECONCILE_SWEEP_PER_SECOND: '0',
    PUENTE_CREATE_DEADLINE_MS: '1500',
    PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '500',
    PUENTE_MERCHANTS_NOTICE_URL: receiver.url,
  }),
);

const device = (number: number): string => `NEWLAND_N950__LOAD${String(number).padStart(7, '0')}`;

const create = (number: number) =>
  outage.till(`${POINT}/devices/${device(number)}/payment-intents`, { body: { amount: 1500 } });

const toldOf = (id: string): number => receiver.received.filter(({ query }) => query.get('id') === id).length;

it('a day without upstream loses nothing: each payment is notified once, at a bounded pace, and new sales get through [F31 F112]', async () => {
  const ids: string[] = [];
  for (let number = 1; number <= SALES; number++) ids.push(idOf(await create(number)));
  outage.down = true;
  for (let number = 1; number <= PAID; number++) await outage.atTerminal('pay', device(number));
  const before = outage.reads();
  const began = performance.now();
  for (let hour = 0; hour < 24; hour += 6) {
    await outage.pass(6 * HOUR_MS);
    await sleep(400);
  }
  expect((await create(90)).status).toBeGreaterThanOrEqual(500);
  expect(outage.reads() - before).toBeLessThanOrEqual(allowed(began));
  expect(statesOf(ids)).toEqual(['LIVE']);
  expect(receiver.received).toEqual([]);
  outage.down = false;
  const back = outage.reads();
  const returned = performance.now();
  await eventually(
    () => create(91),
    ({ status }) => status === 201,
  );
  const created = [];
  for (let number = 61; number <= 70; number++) created.push((await create(number)).status);
  expect(created).toEqual(Array(10).fill(201));
  await eventually(
    async () => {
      await outage.pass(5_000);
      return statesOf(ids);
    },
    (states) => states.join() === 'DONE',
  );
  expect(outage.reads() - back).toBeLessThanOrEqual(allowed(returned));
  const paid = ids.slice(0, PAID);
  await eventually(
    async () => paid.map(toldOf),
    (counts) => counts.every((count) => count >= 1),
  );
  expect(paid.map(toldOf)).toEqual(paid.map(() => 1));
  for (const id of [ids[0] ?? '', ids[PAID - 1] ?? ''])
    expect((await outage.till(`${POINT}/payment-intents/${id}`)).body).toMatchObject({ state: 'FINISHED' });
});

function statesOf(ids: string[]): string[] {
  const states = outage.states();
  return [...new Set(ids.map((id) => states.get(id) ?? 'gone'))];
}

/** Reads that the pace allows since then; a later call of this function only allows more. */
function allowed(since: number): number {
  return Math.ceil(((performance.now() - since) / 1_000) * PER_SECOND) + 1;
}

it('hours without webhooks: reads find the outcome of every sale, and each is notified once [F112]', async () => {
  const ids: string[] = [];
  for (let number = 71; number <= 78; number++) {
    const id = idOf(await create(number));
    ids.push(id);
    await outage.pass(5 * 60_000);
    await outage.atTerminal('pay', device(number));
    await outage.pass(60_000);
    await eventually(
      async () => toldOf(id),
      (count) => count === 1,
    );
  }
  await outage.pass(3 * HOUR_MS);
  expect(ids.map(toldOf)).toEqual(ids.map(() => 1));
});
