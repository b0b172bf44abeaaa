/** The first day: every call is proxied to legacy, and no merchant moves without evidence. */
import type { Readiness } from '../../../src/ops/readiness/facts.ts';
import type { Journey, Scene } from '../journey.ts';
import { writeReport } from '../papers.ts';
import { listDevices, plans, tradeByCard, tradeByCode } from '../trade.ts';
import { placeAll, underneath } from '../underneath.ts';

/** Signed webhooks, as set in the vendor's panel. */
const DIALECT = 'point_integration_wh';

export const onLegacy: Scene = {
  title: 'Four merchants are attached: all of it is proxied to legacy, byte for byte',
  async play(journey) {
    const { shops, transcript, stand, office } = journey;
    const { ar, br, cl, mx } = shops;
    await Promise.all([
      tradeByCard(ar, ar.units.slice(0, 3), plans({ pay: 3, cancel: 1, refund: 1 })),
      tradeByCard(br, br.units.slice(0, 3), plans({ pay: 2, decline: 2, cancel: 1 })),
      tradeByCode(cl, cl.units.slice(0, 2), plans({ pay: 2, cancel: 1 })),
      tradeByCard(mx, mx.units.slice(0, 2), plans({ pay: 2 })),
      listDevices(ar, 1),
    ]);
    const made = Object.values(shops).flatMap(({ sales }) => sales).length;
    const sides = await placeAll(journey);
    transcript.tell('trade', `${made} sales of four merchants, ${callsOf(journey)} calls`);
    const { orders } = await underneath(stand);
    const found = [sides, orders.length];
    transcript.expect('every sale is on legacy, and there is no order', found, [{ legacy: made, orders: 0 }, 0]);
    for (const shop of Object.values(shops)) {
      const { known_as: name, notice_url, notice_secret } = shop;
      const change = { name, notice_url, notice_secret, dialect: DIALECT, declined: 'finished' };
      const set = await office.set('ben', shop.merchant, change, 'as in the panel of the vendor');
      transcript.expect(`${shop.name} is entered`, set.status, 200);
    }
    const { out, code } = await office.run('ana', 'can-migrate', ar.merchant);
    transcript.tell('said', `exit code ${code}: ${out.split('\n')[0]}`);
    transcript.expect(
      'traffic alone proves nothing: inconclusive (exit code 4), and it says which command would',
      [code, out.includes(`puente stage ${ar.merchant} shadow --reason`)],
      [4, true],
    );
    await noteStart(journey);
  },
};

/** The papers of the first day, for the comparison at the end. */
async function noteStart(journey: Journey): Promise<void> {
  const { office, transcript } = journey;
  await writeReport(journey, 'fleet-start.json', '');
  await writeReport(journey, 'AR-start.json', `merchant=${journey.shops.ar.merchant}`);
  const { head } = (await office.look('/api/audit/verify')) as { head: { sequence: number; hash: string } }; // four lines by now
  journey.noted_head = `${head.sequence}:${head.hash}`;
  transcript.tell('found', `the audit chain's head is noted: ${head.sequence}:${head.hash.slice(0, 12)}…`);
}

function callsOf({ shops }: Journey): number {
  return Object.values(shops).reduce((sum, { counts }) => sum + counts.calls, 0);
}

export const tooEarly: Scene = {
  title: 'A move without evidence is refused, and says what is missing',
  async play({ office, transcript, shops }) {
    const { merchant } = shops.ar;
    const refused = await office.move('ben', merchant, { stage: 'orders' }, 'let us be quick');
    const { missing, message } = refused.body as { missing: string; message: string }; // a refusal has both
    transcript.expect(
      'Ben may not jump to orders',
      [refused.status, missing.split(' ').includes('skipped_stage')],
      [400, true],
    );
    transcript.expect(
      'the refusal names the next stage as a command',
      message.includes(`puente stage ${merchant} shadow --reason`),
      true,
    );
    const viewer = await office.move('ana', merchant, { stage: 'shadow' }, 'may I');
    transcript.expect('Ana, a viewer, moves no merchant', viewer.status, 403);
    const { verdict } = (await office.look(`/api/merchants/${merchant}/readiness`)) as Readiness; // the API's shape
    transcript.expect('the merchant is where it was', verdict, 'inconclusive');
  },
};
