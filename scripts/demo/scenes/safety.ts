/** The safety stop: declines never trip it, an orders outage does; tills continue on legacy, no buyer pays twice. */
import type { Answers } from '../../../src/ops/api/api.ts';
import type { Answer } from '../../http.ts';
import type { Journey, Scene } from '../journey.ts';
import { askIntent, atTerminal, openIntent, readIntent } from '../point-till.ts';
import type { Sale } from '../shop.ts';
import { plans, tradeByCard } from '../trade.ts';
import { placeAll, underneath } from '../underneath.ts';
import { until } from '../until.ts';
import { NAMED } from './canary.ts';

/** Longer than `safety.window_ms`, so that earlier calls no longer count. */
const WINDOW_OVER_MS = 6 * 60_000;
/** Successful calls besides the faults: together more than `safety.min_sample`. */
const POLLS = 20;
/** Units in the canary's share that are selling when the outage begins. */
const UNLUCKY = ['PAX_A910__SMARTPOS0000000001', 'NEWLAND_N950__SBX0000001', 'NEWLAND_N950__LOAD0000003'] as const;

export const declinesAreBusiness: Scene = {
  title: 'AR arms its safety stop; an hour of declined cards does not trip it',
  async play(journey) {
    const { shops, transcript, office, nextDay } = journey;
    const { ar } = shops;
    await nextDay();
    await office.set('ben', ar.merchant, { safety_stop: 'armed' }, 'more than half is on orders');
    const declined = await tradeByCard(ar, [NAMED, ...UNLUCKY], plans({ decline: 24 }));
    await placeAll(journey);
    const { trips, now, history } = await safetyOf(journey);
    const [watched] = now;
    transcript.tell('found', `${watched?.calls} calls in the window, ${watched?.faults} faults`);
    const found = [declined.length, declined.every(({ born }) => born === 'orders'), watched?.faults, trips, history];
    transcript.expect('24 declines on orders, no fault, no stop', found, [24, true, 0, [], []]);
  },
};

export const outage: Scene = {
  title: 'The orders API fails for AR: the stop trips to shadow, and tills go on by legacy',
  async play(journey) {
    const { shops, transcript, stand } = journey;
    const { ar, br } = shops;
    await stand.pass(WINDOW_OVER_MS);
    const older = ar.sales.filter(({ born }) => born === 'orders').slice(-POLLS);
    for (const sale of older) await readIntent(ar, sale);
    const fault = { kind: 'error', status: 500, code: 'internal_error', times: 'always', merchant: ar.merchant };
    await stand.control('POST', '/faults', { method: 'POST', path: '/v1/orders', ...fault });
    transcript.tell('person', 'the vendor has an outage: POST /v1/orders is answered 500');
    const references = UNLUCKY.map(() => ar.nextReference());
    const press = (): Promise<Answer[]> =>
      Promise.all(UNLUCKY.map((device, nth) => askIntent(ar, device, references[nth] ?? '')));
    const failed = await press();
    transcript.expect(
      'three tills are answered that the outcome is not known',
      failed.map(({ status }) => status),
      [504, 504, 504],
    );
    const { trips } = await until(
      () => safetyOf(journey),
      (view) => view.trips.length > 0,
    );
    transcript.tell('found', `the safety stop tripped: ${trips[0]?.why}`);
    const stages = [await stageOf(journey, ar.merchant), await stageOf(journey, br.merchant)];
    transcript.expect("AR's intents are in shadow by the stop, canary by intent; BR is not touched", stages, [
      { stage: 'shadow', intended: 'canary' },
      { stage: 'canary', intended: 'canary' },
    ]);
    const sale = await openIntent(ar, NAMED);
    await placeAll(journey);
    await atTerminal(ar, sale, 'pay');
    transcript.expect('the next till sells by legacy', [sale.born, sale.state], ['legacy', 'FINISHED']);
    await stand.control('DELETE', '/faults');
    transcript.tell('person', 'the outage is over; three cashiers press the button again');
    await expectOneOrderEach(journey, references, await press());
  },
};

/** The tills repeat the same request: each sale exists once, on the lane where it may have existed all along. */
async function expectOneOrderEach(journey: Journey, references: readonly string[], answers: Answer[]): Promise<void> {
  const { shops, transcript, stand } = journey;
  const { ar } = shops;
  const sales = answers.map(({ body }, nth): Sale => {
    const { id } = body as { id: string }; // checked below
    const common = { family: 'point', state: 'OPEN', payment_id: null, refunded: false, born: null } as const;
    return { ...common, unit: UNLUCKY[nth] ?? '', reference: references[nth] ?? '', id, amount_minor: 2500 };
  });
  ar.sales.push(...sales);
  for (const sale of sales) await atTerminal(ar, sale, 'pay');
  await placeAll(journey);
  const { orders } = await underneath(stand);
  const mine = orders.filter(({ external_reference }) => references.includes(external_reference));
  const found = [answers.map(({ status }) => status), mine.map(({ status }) => status)];
  transcript.expect('each is answered, and paid as one order', found, [
    [201, 201, 201],
    ['processed', 'processed', 'processed'],
  ]);
}

export const resetByHand: Scene = {
  title: 'A person takes the stop away',
  async play(journey) {
    const { shops, transcript, office } = journey;
    const { ar } = shops;
    const forward = await office.move('ben', ar.merchant, { stage: 'canary', share: 80 }, 'on we go');
    transcript.expect('while it stands nothing moves forward', forward.status, 400);
    const { revision } = await safetyOf(journey);
    const ask = { kind: 'intents', reason: 'the vendor says that it is over', revision };
    const reset = await office.ask('ben', 'POST', `/api/merchants/${ar.merchant}/safety/reset`, ask);
    const sale = await openIntent(ar, NAMED);
    await placeAll(journey);
    await atTerminal(ar, sale, 'pay');
    transcript.expect('reset by Ben, and the next sale is on orders', [reset.status, sale.born], [200, 'orders']);
  },
};

async function safetyOf({ office, shops }: Journey): Promise<Answers['GET /api/merchants/:id/safety']> {
  return (await office.look(`/api/merchants/${shops.ar.merchant}/safety`)) as Answers['GET /api/merchants/:id/safety']; // the API's shape
}

async function stageOf({ office }: Journey, merchant: string): Promise<{ stage: string; intended: string }> {
  const { in_force } = (await office.look(`/api/merchants/${merchant}`)) as {
    in_force: { intents: { stage: string; intended: string } };
  }; // the API's shape
  const { stage, intended } = in_force.intents;
  return { stage, intended };
}
