/** Shadow: the same calls, proxied as before and translated without being sent, so that differences show early. */
import { isDeepStrictEqual } from 'node:util';
import type { BulkView } from '../../../src/ops/moves/bulk.ts';
import type { DifferenceView } from '../../../src/ops/readiness/differences.ts';
import type { Readiness } from '../../../src/ops/readiness/facts.ts';
import type { Journey, Scene } from '../journey.ts';
import { tryIntent } from '../point-till.ts';
import type { Shop } from '../shop.ts';
import { listDevices, plans, tradeByCard, tradeByCode } from '../trade.ts';
import { placeAll, underneath } from '../underneath.ts';
import { until } from '../until.ts';

/** Least number of calls per area: `moves.min_sample` of the stand. */
const ENOUGH = 10;

export const twoADay: Scene = {
  title: 'All four go to shadow by a bulk move, two a day',
  async play({ office, transcript, shops, nextDay }) {
    const items = Object.values(shops).map(({ merchant: merchant_id }) => ({ merchant_id }));
    const ask = { target: { stage: 'shadow' }, items, per_day: 2, reason: 'wave 1: look without touching' };
    const { body } = await office.ask('ben', 'POST', '/api/bulk', ask);
    const { id } = body as BulkView; // the API's shape
    const shown = async () => (await office.look(`/api/bulk/${id}`)) as BulkView; // the same
    const first = await until(shown, ({ detail }) => detail.startsWith('2 of 2'));
    transcript.tell('found', `${first.summary}: ${first.detail}`);
    const states = ({ items: all }: BulkView) => all.map(({ state }) => state);
    transcript.expect("the day's budget holds", states(first), ['moved', 'moved', 'waiting', 'waiting']);
    await nextDay();
    const second = await until(shown, ({ state }) => state === 'done');
    transcript.expect(
      'the next day it is done',
      [second.state, ...states(second)],
      ['done', ...items.map(() => 'moved')],
    );
  },
};

export const onPaper: Scene = {
  title: 'Shadow: nothing changes for a till, and every create is judged as the order that it would be',
  async play({ shops, stand, transcript, office }) {
    const { ar, br, cl, mx } = shops;
    const whole = plans({ cancel: ENOUGH, refund: ENOUGH });
    await Promise.all([
      tradeByCard(ar, ar.units, whole, () => ({ body: { description: 'Venta' } })),
      tradeByCard(br, br.units, [...whole, ...plans({ decline: 3 })]),
      tradeByCode(cl, cl.units, plans({ pay: 3 })),
      tradeByCard(mx, mx.units.slice(0, 2), plans({ pay: 3 })),
      tradeByCode(mx, mx.units.slice(2), plans({ pay: 2 })),
      listDevices(ar, ENOUGH),
      listDevices(br, ENOUGH),
    ]);
    await sellVoucher(br);
    const small = await tryIntent(br, br.units[0] ?? '', { body: { payment: TEN_PARTS } });
    transcript.tell('trade', 'a day of sales; BR also takes a voucher, and is refused ten parts of 2.50');
    transcript.expect('legacy takes no part below 5.00', small.answer.status, 400);
    const sides = await placeAll({ stand, shops });
    const { orders, requests } = await underneath(stand);
    const writes = requests.filter(({ method, path }) => method !== 'GET' && path.startsWith('/v1/orders'));
    const found = [sides.orders, orders.length, writes.length];
    transcript.expect('every sale is on legacy; the shadow wrote nothing', found, [0, 0, 0]);
    const loss = await until(
      () => lossOf(office, ar, 'body.description'),
      (one) => one?.would_be_count === whole.length,
    );
    transcript.tell('found', `loss ledger of AR: ${loss?.advice}`);
    transcript.expect('the ledger counts each description that would be lost', loss?.would_be_count, whole.length);
    const expected = ['ready', 'blocked', 'inconclusive', 'blocked'];
    const verdicts = await until(
      () => Promise.all([ar, br, cl, mx].map((shop) => verdictOf(office, shop))),
      (all) => isDeepStrictEqual(all, expected),
    );
    transcript.expect('AR is ready; BR and MX are blocked; CL has shown too little', verdicts, expected);
  },
};

const TEN_PARTS = { type: 'credit_card', installments: 10 };

/** One sale with a voucher brand, which orders do not have. */
async function sellVoucher(br: Shop): Promise<void> {
  const payment = { type: 'voucher_card', voucher_type: 'sodexo' };
  await tradeByCard(br, br.units.slice(0, 1), plans({ pay: 1 }), () => ({ body: { payment } }));
}

export const inbox: Scene = {
  title: 'The inbox of differences: one is mended, one is accepted until a date',
  async play({ shops, stand, transcript, office }) {
    const { br } = shops;
    const list = async () =>
      ((await office.look(`/api/differences?merchant=${br.merchant}`)) as { differences: DifferenceView[] })
        .differences; // the API's shape
    const found = await until(list, ({ length }) => length >= 2);
    for (const { legacy, orders, count } of found)
      transcript.tell('found', `legacy says ${legacy}, orders ${orders}, ${count} time(s)`);
    const voucher = found.find(({ orders }) => orders.includes('payment.type'));
    const parts = found.find(({ orders }) => orders === 'accepted');
    transcript.expect('two, and no third', [found.length, voucher !== undefined, parts !== undefined], [2, true, true]);
    await office.set('ben', br.merchant, { voucher: 'drop' }, 'the shop takes vouchers without the brand');
    const judge = (one: DifferenceView | undefined, judgement: object) =>
      office.ask('ben', 'PUT', `/api/differences/${br.merchant}/${one?.signature}`, {
        revision: one?.revision,
        ...judgement,
      });
    const mended = await judge(voucher, { state: 'fixed', note: 'vouchers go on without their brand' });
    const accepted_until = new Date(stand.now() + 30 * DAY_MS).toISOString();
    const note = 'the terminal refuses small parts by itself';
    const accepted = await judge(parts, { state: 'accepted', accepted_until, note });
    transcript.expect('both are judged', [mended.status, accepted.status], [200, 200]);
    await sellVoucher(br);
    const sold = `${br.name}: the next voucher is no difference any more, and BR is ready`;
    const verdict = await until(
      () => verdictOf(office, br),
      (one) => one === 'ready',
    );
    const states = (await list()).map(({ state }) => state);
    transcript.expect(sold, [verdict, states.toSorted()], ['ready', ['accepted', 'fixed']]);
  },
};

export const blocked: Scene = {
  title: 'What was not seen, and what orders would refuse: neither moves',
  async play({ shops, transcript, office }) {
    const { cl, mx } = shops;
    const early = await office.move('ben', cl.merchant, { stage: 'canary', share: 50 }, 'quick');
    const said = [early.status, saysOf(early.body, '3 QR calls'), saysOf(early.body, '`puente ')];
    transcript.expect('CL has shown too few sales; the refusal says how many, and a command', said, [400, true, true]);
    await tradeByCode(cl, cl.units, plans({ cancel: ENOUGH, refund: ENOUGH }));
    const ready = await until(
      () => verdictOf(office, cl),
      (verdict) => verdict === 'ready',
    );
    transcript.expect('after a morning of sales CL is ready', ready, 'ready');
    const canary = { stage: 'canary', share: 50 };
    const hard = await office.move('ben', mx.merchant, canary, 'all of them');
    const command = saysOf(hard.body, `\`puente differences show ${mx.merchant}`);
    transcript.expect(
      'MX sells by QR, which orders refuse in Mexico; the move says so',
      [hard.status, command],
      [400, true],
    );
    const { needs } = (await office.move('eva', mx.merchant, { ...canary, override: true }, 'I insist')).body as {
      needs: string;
    }; // a refusal names what would help
    transcript.expect('no role waives that, not even approver: MX stays on shadow', needs, 'nothing');
  },
};

const DAY_MS = 86_400_000;

interface LossView {
  field: string;
  would_be_count: number;
  advice: string;
}

async function lossOf(office: Journey['office'], { merchant }: Shop, field: string): Promise<LossView | undefined> {
  const { losses } = (await office.look(`/api/losses?merchant=${merchant}`)) as { losses: LossView[] }; // the API's shape
  return losses.find((one) => one.field === field);
}

async function verdictOf(office: Journey['office'], { merchant }: Shop): Promise<string> {
  return ((await office.look(`/api/merchants/${merchant}/readiness`)) as Readiness).verdict; // the API's shape
}

function saysOf(body: unknown, words: string): boolean {
  return (body as { message: string }).message.includes(words); // every refusal has one
}
