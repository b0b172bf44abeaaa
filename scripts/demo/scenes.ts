/** The scenes of the payment story, one after the other; each checks what it shows. */
import type { Cashier } from './cashier.ts';
import { POINT } from './till.ts';

export interface Scene {
  title: string;
  play(cashier: Cashier): Promise<void>;
}

/** Two terminals of the sandbox's cast. */
const FIRST = 'PAX_A910__SMARTPOS0000000001';
const SECOND = 'NEWLAND_N950__SBX0000001';

export const scenes: readonly Scene[] = [
  {
    title: 'The till looks for its terminals',
    async play(cashier) {
      const answer = await cashier.call('GET', `${POINT}/devices`);
      const devices = answer.body.devices as { id: string; operating_mode: string }[]; // checked by the next line
      cashier.expect('both terminals in PDV mode are listed', idsInPdv(devices), [SECOND, FIRST]);
    },
  },
  {
    title: 'A customer pays 15.00',
    async play(cashier) {
      const sale = await cashier.charge(FIRST, 1500);
      await cashier.person(FIRST, 'pay', 'the customer pays');
      await cashier.outcome(sale, { state: 'FINISHED', payment: 'approved', order: 'processed' });
    },
  },
  {
    title: 'A card is declined, for a sale with a reference that orders refuse',
    async play(cashier) {
      const sale = await cashier.charge(SECOND, 2599, 'Pedido 002');
      await cashier.person(SECOND, 'decline', "the customer's bank declines the card");
      await cashier.outcome(sale, { state: 'ERROR', payment: 'rejected', order: 'failed' });
    },
  },
  {
    title: 'The cashier cancels before the terminal has it',
    async play(cashier) {
      const sale = await cashier.charge(FIRST, 3000);
      const answer = await cashier.call('DELETE', `${POINT}/devices/${FIRST}/payment-intents/${sale.id}`);
      cashier.expect('the cancel is answered 200 with the id', answer, { status: 200, body: { id: sale.id } });
      await cashier.outcome(sale, { state: 'CANCELED', payment: null, order: 'canceled' });
    },
  },
  {
    title: 'A cancel comes too late: the sale is on the terminal already',
    async play(cashier) {
      const sale = await cashier.charge(FIRST, 4250);
      await cashier.person(FIRST, 'pick_up', 'the terminal fetches the sale');
      const answer = await cashier.call('DELETE', `${POINT}/devices/${FIRST}/payment-intents/${sale.id}`);
      cashier.expect('the cancel is refused with 409, as legacy did', answer.status, 409);
      cashier.expect('the body says 409 too, which Odoo reads', answer.body.status, 409);
      await cashier.person(FIRST, 'cancel', 'the customer cancels on the terminal');
      await cashier.outcome(sale, { state: 'CANCELED', payment: null, order: 'canceled' });
    },
  },
  {
    title: 'The terminal is busy with another sale',
    async play(cashier) {
      const sale = await cashier.charge(SECOND, 9900);
      const answer = await cashier.call('POST', `${POINT}/devices/${SECOND}/payment-intents`, cashier.request(1000));
      cashier.expect('the second sale is refused with 409', answer.status, 409);
      cashier.expect('with the error number that tills look for', answer.body.error, '2205');
      await cashier.person(SECOND, 'pay', 'the customer of the first sale pays');
      await cashier.outcome(sale, { state: 'FINISHED', payment: 'approved', order: 'processed' });
    },
  },
];

function idsInPdv(devices: { id: string; operating_mode: string }[]): string[] {
  return devices
    .filter(({ operating_mode }) => operating_mode === 'PDV')
    .map(({ id }) => id)
    .sort();
}
