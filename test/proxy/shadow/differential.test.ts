/** Predictions of shadows and answers of the sandbox's orders API: the same status and code, order by order. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringifyJson } from '../../../src/contract/json.ts';
import { type Prediction, predict } from '../../../src/proxy/shadow/predict.ts';
import { shadowOf } from '../../../src/proxy/shadow/shadow.ts';
import { type Kit, openKit } from '../../sandbox/kit.ts';
import { createOf, merchantOf, randomOf, tables, taskOf, tools } from './kit.ts';
import { brokenIn, discountedQrOrder, type Json, pointOrder, qrOrder } from './orders.ts';

const sites = ['MLA', 'MLB', 'MLM', 'MLC', 'MLU'] as const;
/** Generated legacy creates whose orders are posted. */
const CREATES = 1_200;
const AT_ONCE = 8;

let kit: Kit;
let number = 0;

beforeAll(async () => {
  // The rules predict the refusals of both profiles: seen in the field, or in the specification for Point only.
  const stricter = { error_codes: 'documented', qr_installments: 'refused', installments_cost: 'point_pro' };
  kit = await openKit(stricter, 'field');
  for (const site of ['MLA', 'MLC'])
    await kit.control('PUT', `merchants/${merchantOf[site]}`, { may_hand_out_cash: true });
});
afterAll(() => kit.close());

/** `400 property_value` or `taken`; refusals that depend on existing orders or tills count as `taken`. */
async function answerTo(site: string, order: unknown, key = `key-${number++}`): Promise<string> {
  const reply = await kit.call('POST', '/v1/orders', {
    merchant: merchantOf[site] ?? null,
    ...(key === '' ? {} : { key }),
    body: stringifyJson(order),
  });
  const { code = '' } = reply.body.errors?.[0] ?? {};
  if (/^(?:already_queued|forbidden_checking|pos_not_found)/.test(code) || reply.status === 201) return 'taken';
  if (code === 'property_value' && reply.text.includes('already in use')) return 'taken';
  return `${reply.status} ${code}`;
}

function predicted(site: string, order: unknown, has_key = true): Prediction | null {
  const { exponent } = tables.site(site);
  const may_hand_out_cash = site === 'MLA' || site === 'MLC';
  return predict(order, { site, exponent, has_key, is_oauth: false, is_marketplace: true, may_hand_out_cash });
}

const wordOf = (prediction: Prediction | null) =>
  prediction === null ? 'taken' : `${prediction.status} ${prediction.code}`;

async function each<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = [...all];
  const run = async () => {
    for (let one = left.pop(); one !== undefined; one = left.pop()) await work(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
}

/** A type that is no text: the sandbox judges such an order as Point, the specification has its own code. */
const isJudgedAsPoint = (order: unknown) => {
  const { type, config } = order as Json;
  return (
    type !== undefined && typeof type !== 'string' && typeof config === 'object' && config !== null && 'qr' in config
  );
};

describe.each(sites)('orders of %s', (site) => {
  const amount = site === 'MLC' ? '1000' : '150.00';
  const total = site === 'MLC' ? '2000' : '300.00';
  it.each([
    ['on a terminal', pointOrder('r', amount)],
    ['by QR', qrOrder('r', amount)],
    ['by QR with a discount and cash', discountedQrOrder('r', amount, total, amount)],
  ])('%s, right and with one thing broken', async (_, right) => {
    const different: string[] = [];
    const codes = new Set<string>();
    // The sites differ in a few rules; two of them get every order, the others a third each.
    const share = site === 'MLA' || site === 'MLC' ? 1 : 3;
    const broken = brokenIn(right).filter((_one, index) => index % share === 0);
    await each([{ says: 'right', order: right as unknown }, ...broken], async ({ says, order }) => {
      if (isJudgedAsPoint(order)) return;
      const sent = order as Json;
      if (sent.external_reference === 'r') sent.external_reference = `r-${number++}`;
      const answer = await answerTo(site, sent);
      const word = wordOf(predicted(site, sent));
      codes.add(answer);
      if (answer !== word) different.push(`${says}: ${answer}, predicted ${word}`);
    });
    expect(different).toEqual([]);
    // A site without this type of order answers the same to all of them.
    expect(codes.size).toBeGreaterThan(predicted(site, right)?.code === 'unsupported_site' ? 0 : 6);
  });
});

describe('an order', () => {
  it('that is none, or comes without its key, is refused as predicted', async () => {
    for (const order of [[], 'order', 7, null, {}]) {
      expect(await answerTo('MLA', order)).toBe(wordOf(predicted('MLA', order)));
    }
    const order = pointOrder('no-key', '150.00');
    expect(await answerTo('MLA', order, '')).toBe(wordOf(predicted('MLA', order, false)));
  });
});

describe('generated legacy creates', () => {
  it('become orders that are answered as their shadows say', async () => {
    const random = randomOf(20_261_121);
    const counts: Record<string, number> = {};
    const different: string[] = [];
    const creates = Array.from({ length: CREATES }, () => createOf(random)).filter(
      ({ site }) => site !== null && merchantOf[site] !== undefined,
    );
    await each(creates, async (create) => {
      const finding = shadowOf(tools, taskOf(create));
      if (finding.order === null) return;
      // The fee needs an OAuth token, which a shadow can't recognize.
      const { marketplace_fee, ...order } = finding.order as Json;
      order.external_reference = `shadow-${number++}`;
      const answer = await answerTo(create.site ?? '', order);
      const word = finding.verdict === 'accepted' ? 'taken' : `${finding.status} ${finding.code}`;
      counts[word] = (counts[word] ?? 0) + 1;
      // A shadow can't know either whether a seller may hand out cash.
      if (answer !== word && !(word === 'taken' && answer === '400 seller_configuration'))
        different.push(`${create.operation} ${create.site}: ${answer}, predicted ${word} ${finding.detail}`);
    });
    expect(different).toEqual([]);
    expect(counts.taken).toBeGreaterThan(300);
    expect(Object.keys(counts).sort()).toEqual([
      '400 property_value',
      '400 sponsor_id_not_valid',
      '400 unsupported_site',
      'taken',
    ]);
  });
});
