/** One till's first day on orders: its calls are the usual ones, and so are the answers. */
import type { Journey, Scene } from '../journey.ts';
import { askIntent, atTerminal, cancelIntent, openIntent } from '../point-till.ts';
import type { Sale, Shop } from '../shop.ts';
import type { Transcript } from '../transcript.ts';
import { placeAll } from '../underneath.ts';
import { NAMED } from './canary.ts';

export const oneTill: Scene = {
  title: 'One of these tills, call by call: it notices nothing',
  async play(journey) {
    const { shops, transcript } = journey;
    const till = aloud(shops.ar, transcript);
    const open = (reference?: string) => openIntent(till, NAMED, reference === undefined ? {} : { reference });
    await atTerminal(till, await open(), 'pay');
    const declined = await open('Pedido 002 / caja 1');
    const second = await askIntent(till, NAMED, 'another sale');
    transcript.expect(
      'a busy terminal refuses another sale, by the number that tills look for',
      [second.status, errorOf(second.body)],
      [409, '2205'],
    );
    await atTerminal(till, declined, 'decline');
    const told = await till.toldOf(({ subject }) => subject === declined.id);
    const facts = [told?.state, told?.reference, told?.signature_right];
    transcript.expect("declined, with the till's own reference byte for byte, signed with its own secret", facts, [
      'FINISHED',
      'Pedido 002 / caja 1',
      true,
    ]);
    const late = await open();
    await till.act(`/terminals/${till.merchant}/${NAMED}/pick_up`);
    const refused = await cancelIntent(till, late);
    transcript.expect('a cancel is too late once the terminal has the sale, as ever', refused.status, 409);
    await atTerminal(till, late, 'cancel');
    const changed_mind = await open();
    await cancelIntent(till, changed_mind);
    transcript.expect('both are canceled in the end', [late.state, changed_mind.state], ['CANCELED', 'CANCELED']);
    await expectOrders(journey, [declined, late, changed_mind]);
  },
};

async function expectOrders(journey: Journey, sales: Sale[]): Promise<void> {
  await placeAll(journey);
  const born = sales.map((sale) => sale.born);
  journey.transcript.expect('and all of it was orders underneath', born, ['orders', 'orders', 'orders']);
}

/** The same shop with its calls printed. */
function aloud(shop: Shop, { tell }: Transcript): Shop {
  return {
    ...shop,
    async call(operation, method, target, parts) {
      tell('sent', `${method} ${target}${parts?.body === undefined ? '' : ` ${JSON.stringify(parts.body)}`}`);
      const answer = await shop.call(operation, method, target, parts);
      tell('answered', `${answer.status} ${JSON.stringify(answer.body).slice(0, SHOWN)}`);
      return answer;
    },
    async act(path) {
      tell('person', `${path.split('/').at(-1)} at ${NAMED}`);
      return shop.act(path);
    },
  };
}
/** Characters shown, because payments are long. */
const SHOWN = 200;

function errorOf(body: unknown): unknown {
  return (body as { error?: unknown }).error; // every refusal has one
}
