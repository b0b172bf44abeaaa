/** Each numbered limitation, shown as exactly the lines in which a till's transcript differs from the legacy one. */
import { describe, expect, test } from 'vitest';
import { ARGENTINA, BRAZIL, clockOf, MEXICO } from '../kit.ts';
import { hitsIn, isOfPoint, limitationsOf, reportsOf } from './limitation-hits.ts';
import { create as createQr, argentina as qrShop, v2, v2Item } from './qr-sales.ts';
import { newQrTill } from './qr-till-script.ts';
import { inEachQrWay } from './qr-worlds.ts';
import { cancel, create, get, newTill, type Step, status, TOLD_PAID } from './till-script.ts';
import { differences, narrowDifferences } from './transcript.ts';
import { inEachWay, type WorldOptions } from './worlds.ts';

const { limitation, limitations, shown } = limitationsOf(isOfPoint);

const SALE = { amount: 1500, additional_info: { external_reference: 'sale-77', print_on_terminal: true } };
const TAKEN = '< 201 application/json {"id":"<id 1>","device_id":"PAX_A910__SMARTPOS0000000001"';
const READ = '"device_id":"PAX_A910__SMARTPOS0000000001"';
const INFO = '"additional_info":{"external_reference":"sale-77","print_on_terminal":true}';
/** A signature as transcripts show it, without its variable parts. */
const SIGNED = 'signed ts=…,v…=… with request id';
/** The default of `reconcile.action_required_grace_ms`. */
const GRACE_MS = 10_000;

/** Lines that differ between the legacy API (`-`) and Puente on the orders lane (`+`). */
async function compare(script: Step[], options: Partial<WorldOptions> = {}): Promise<string[]> {
  const told = await inEachWay({ merchant: ARGENTINA, ...options }, ['direct', 'orders'], (world) =>
    newTill(world).run(script),
  );
  return differences(told.direct, told.orders);
}

describe('each limitation is this difference and no other', () => {
  limitation('LIM-01', async () => {
    const transcripts = await inEachWay({ merchant: ARGENTINA, settings: {} }, ['direct', 'orders'], (world) => {
      const notices = world.door_url === world.control_url ? TOLD_PAID : { notices: 1 };
      return newTill(world).run([create(SALE), { person: 'decline' }, get(), status(), cancel(), notices]);
    });
    const found = differences(transcripts.direct, transcripts.orders);
    const told = `! ?tenant=7&topic=point_integration_ipn&id=<id 1> application/json ${SIGNED} {"id":"<id 1>"`;
    const facts = '"amount":1500,"caller_id":700100200,"client_id":4004001,"created_at":"<date time>"';
    const payment = '"payment":{"id":<payment 1>,"type":"credit_card","installments":1}';
    expect(found).toEqual([
      `- < 200 application/json {"id":"<id 1>","state":"FINISHED","amount":1500,${READ},${payment},${INFO}}`,
      `+ < 200 application/json {"id":"<id 1>","state":"ERROR","amount":1500,${READ},${payment},${INFO}}`,
      '- < 200 application/json {"status":"FINISHED","created_on":"<instant>"}',
      '+ < 200 application/json {"status":"ERROR","created_on":"<instant>"}',
      `- ${told},"state":"FINISHED",${facts},"payment":{"id":<payment 1>,"state":"rejected","type":"credit_card"},${INFO}}`,
      `+ ${told},"state":"ERROR",${facts},${INFO}}`,
      `- ! ?tenant=7&id=<payment 1>&topic=payment application/json ${SIGNED} {"resource":"<payment 1>","topic":"payment"}`,
    ]);
  });

  limitation('LIM-02', async () => {
    const found = await compare([
      create(SALE),
      { person: 'process' },
      get(),
      status(),
      cancel(),
      { person: 'pay' },
      TOLD_PAID,
      get(),
    ]);
    expect(found).toEqual([
      `- < 200 application/json {"id":"<id 1>","state":"PROCESSING","amount":1500,${READ},${INFO}}`,
      `+ < 200 application/json {"id":"<id 1>","state":"ON_TERMINAL","amount":1500,${READ},${INFO}}`,
      '- < 200 application/json {"status":"PROCESSING","created_on":"<instant>"}',
      '+ < 200 application/json {"status":"ON_TERMINAL","created_on":"<instant>"}',
    ]);
  });

  limitation('LIM-03', async () => {
    const told = await inEachWay({ merchant: ARGENTINA }, ['direct', 'orders'], async (world) => {
      const till = newTill(world);
      await till.run([create(SALE), { person: 'pay' }, TOLD_PAID, get()]);
      const number = [...world.bench.sandbox.world.payments.keys()].at(-1);
      return till.run([{ call: 'POST /devices/{device}/refund', body: { payment_id: String(number) } }]);
    });
    expect(told.direct[1]).toBe(
      '< 200 application/json {"id":"<id 2>","device_id":"PAX_A910__SMARTPOS0000000001","payment_id":"<payment 1>"}',
    );
    expect(told.orders[1]).toBe(
      '< 409 application/json {"error":"409","message":"Payment <payment 1> was made by an order: it has no refund on the terminal","status":409}',
    );
  });

  limitation('LIM-04', async () => {
    expect(await compare([create(SALE), { call: 'GET /devices/{device}/payment-intents/{sale}' }])).toEqual([
      '- < 404 application/json {"error":"111","message":"Action not supported","status":404}',
      `+ < 200 application/json {"id":"<id 1>","state":"OPEN","amount":1500,${READ},${INFO}}`,
    ]);
  });

  limitation('LIM-05', async () => {
    const without: Step = { call: 'DELETE /payment-intents/{sale}' };
    expect(await compare([create(SALE), without])).toEqual([
      '- < 404 application/json {"error":"111","message":"Action not supported","status":404}',
      '+ < 200 application/json {"id":"<id 1>"}',
    ]);
    expect(
      await compare([create(SALE), { person: 'pick_up' }, without, { person: 'pay' }, TOLD_PAID, without, get()]),
    ).toEqual([]);
  });

  limitation('LIM-07', async () => {
    const voucher = create({ amount: 1500, payment: { type: 'voucher_card', voucher_type: 'alelo' } });
    const taken = `${TAKEN},"amount":1500,"payment":{"type":"voucher_card","voucher_type":"alelo"},"payment_mode":"card"}`;
    expect(await compare([voucher], { merchant: BRAZIL })).toEqual([
      `- ${taken}`,
      '+ < 400 application/json {"error":"400","message":"payment.type is not valid","status":400}',
    ]);
    expect(await compare([voucher, get()], { merchant: BRAZIL, settings: { voucher: 'drop' } })).toEqual([]);
  });

  limitation('LIM-08', async () => {
    const said = 'Pedido nº 002';
    const script = [
      create({ amount: 1500, additional_info: { external_reference: said } }),
      { person: 'pay' },
      TOLD_PAID,
      get(),
      { call: 'GET /v1/payments/{payment}' },
    ];
    const told = await inEachWay({ merchant: ARGENTINA }, ['direct', 'orders'], async (world) => {
      const lines = await newTill(world).run(script);
      const { payments } = world.bench.sandbox.world;
      return { lines, in_panel: [...payments.values()].at(-1)?.external_reference };
    });
    expect(narrowDifferences(told.direct.lines, told.orders.lines)).toEqual([
      expect.stringMatching(/^- …"id":"\d{19}"…$/),
      expect.stringMatching(/^\+ …"id":"\d{19}"…$/),
    ]);
    expect(told.direct.in_panel).toBe(said);
    expect(told.orders.in_panel).toMatch(/^pnt[0-9a-f]{32}$/);
  });

  limitation('LIM-09', async () => {
    let offset_ms = 0;
    const clock = clockOf(() => Date.now() + offset_ms);
    const told = await inEachWay({ merchant: ARGENTINA, clock }, ['direct', 'orders'], async (world) => {
      const till = newTill(world);
      offset_ms = 0;
      const held = await till.run([create(SALE), { person: 'confirm_needed' }, get()]);
      offset_ms = GRACE_MS;
      return { held, over: await till.run([get(), { notices: 1 }]) };
    });
    expect(differences(told.direct.held, told.orders.held)).toEqual([
      `- < 200 application/json {"id":"<id 1>","state":"CONFIRMATION_REQUIRED","amount":1500,${READ},"payment":{"id":<payment 1>},${INFO}}`,
      `+ < 200 application/json {"id":"<id 1>","state":"ON_TERMINAL","amount":1500,${READ},${INFO}}`,
    ]);
    const notice = `! ?tenant=7&topic=point_integration_ipn&id=<id 1> application/json ${SIGNED} {"id":"<id 1>","state":"CONFIRMATION_REQUIRED","amount":1500,"caller_id":700100200,"client_id":4004001,"created_at":"<date time>"`;
    expect(differences(told.direct.over, told.orders.over)).toEqual([
      `- < 200 application/json {"id":"<id 1>","state":"CONFIRMATION_REQUIRED","amount":1500,${READ},"payment":{"id":<payment 1>},${INFO}}`,
      `+ < 200 application/json {"id":"<id 1>","state":"CONFIRMATION_REQUIRED","amount":1500,${READ},${INFO}}`,
      `- ${notice},"payment":{"id":<payment 1>,"state":"","type":""},${INFO}}`,
      `+ ${notice},"payment":{"state":"","type":""},${INFO}}`,
    ]);
    // A sale in this state does not block the terminal: the next create ends the wait.
    const wanted = await compare([
      create(SALE),
      { person: 'confirm_needed' },
      create({ amount: 1600 }, 'next'),
      { notices: 1 },
      get(),
    ]);
    expect(wanted).toEqual([
      `- ${notice},"payment":{"id":<payment 1>,"state":"","type":""},${INFO}}`,
      `+ ${notice},"payment":{"state":"","type":""},${INFO}}`,
      `- < 200 application/json {"id":"<id 1>","state":"CONFIRMATION_REQUIRED","amount":1500,${READ},"payment":{"id":<payment 1>},${INFO}}`,
      `+ < 200 application/json {"id":"<id 1>","state":"CONFIRMATION_REQUIRED","amount":1500,${READ},${INFO}}`,
    ]);
  });

  limitation('LIM-10', async () => {
    const script: Step[] = [create(SALE), { person: 'error' }, { notices: 1 }, status()];
    expect((await compare(script, { settings: { declined: 'finished' } })).at(-1)).toBe(
      '+ < 200 application/json {"status":"FINISHED","created_on":"<instant>"}',
    );
    expect(await compare([...script, get()], { settings: { declined: 'error' } })).toEqual([
      `- < 200 application/json {"id":"<id 1>","state":"ERROR","amount":1500,${READ},${INFO}}`,
      `+ < 200 application/json {"id":"<id 1>","state":"ERROR","amount":1500,${READ},"payment":{"id":<payment 1>,"type":"credit_card","installments":1},${INFO}}`,
    ]);
  });

  limitation('LIM-11', async () => {
    const script: Step[] = [create(SALE), get(), { person: 'pick_up' }, get()];
    expect(await compare(script, { environment: { PUENTE_READS_FRESH_MS: '60000' } })).toEqual([
      `- < 200 application/json {"id":"<id 1>","state":"ON_TERMINAL","amount":1500,${READ},${INFO}}`,
      `+ < 200 application/json {"id":"<id 1>","state":"OPEN","amount":1500,${READ},${INFO}}`,
    ]);
  });

  limitation('LIM-12', async () => {
    const refused = (message: string): string =>
      `< 400 application/json {"error":"400","message":"${message}","status":400}`;
    expect(
      await compare([
        create({ amount: 0 }),
        create({ amount: -5 }),
        create('{"amount":99999999999999999999}'),
        create({ amount: 400_000_001 }),
      ]),
    ).toEqual([
      `- ${refused('amount: Must be greater than or equal to 1500')}`,
      `+ ${refused('amount: Must be greater than or equal to 1')}`,
      `- ${refused('amount: Must be greater than or equal to 1500')}`,
      `+ ${refused('amount: Must be greater than or equal to 1')}`,
      `- ${refused('amount: Must be less than or equal to 400000000')}`,
      `+ ${refused('amount is not valid')}`,
      `- ${refused('amount: Must be less than or equal to 400000000')}`,
      `+ ${TAKEN},"amount":400000001,"payment_mode":"card"}`,
    ]);
    expect(await compare([create({ amount: 1499 })], { profile: 'specification' })).toEqual([
      `- ${refused('amount: Must be greater than or equal to 1500')}`,
      `+ ${TAKEN},"amount":1499,"payment_mode":"card"}`,
    ]);
    expect(await compare([create({ amount: 99 })], { merchant: BRAZIL })).toEqual([
      `- ${refused('amount: Must be greater than or equal to 100')}`,
      `+ ${TAKEN},"amount":99,"payment_mode":"card"}`,
    ]);
    const small = { ...v2Item(qrShop), unit_price: 10.1, quantity: 1, total_amount: 10.1 };
    const sale = createQr(v2, v2.body(qrShop, { total_amount: 10.1, items: [small] }));
    const qr = await inEachQrWay({ merchant: qrShop.merchant, profile: 'field' }, ['direct', 'orders'], (world) =>
      newQrTill(world).run([sale]),
    );
    expect(qr.direct[1]).toMatch(/^< 204/);
    expect(qr.orders[1]).toMatch(/^< 400 .*"error":"invalid_total_amount"/);
  });

  limitation('LIM-13', async () => {
    expect(await compare([create({ amount: 1500, description: 5 })], { merchant: MEXICO })).toEqual([
      '- < 400 application/json {"error":"400","message":"Additional property description is not allowed","status":400}',
      '+ < 400 application/json {"error":"400","message":"description is not valid","status":400}',
    ]);
  });

  limitation('LIM-14', async () => {
    const queued =
      '< 409 application/json {"error":"2205","message":"There is already a queued intent for the device","status":409}';
    expect(await compare([create(SALE), create(SALE, 'again')])).toEqual([
      `- ${queued}`,
      `+ ${TAKEN},"amount":1500,${INFO},"payment_mode":"card"}`,
    ]);
    expect(
      await compare([create(SALE), create(SALE, 'again')], { environment: { PUENTE_CREATE_JOIN_WINDOW_MS: '0' } }),
    ).toEqual([]);
    // Paid and acknowledged: without a key it is a new sale; with the first one's key a client library may repeat it.
    const paid = (headers: Record<string, string>): Step[] => [
      ...[create(SALE, 'sale', headers), { person: 'pay' }, TOLD_PAID, create(SALE, 'again', headers), get('again')],
    ];
    expect(await compare(paid({}))).toEqual([]);
    expect(await compare(paid({ 'x-idempotency-key': 'kept-by-the-till' }))).toEqual([
      `- ${TAKEN.replace('<id 1>', '<id 2>')},"amount":1500,${INFO},"payment_mode":"card"}`,
      `+ ${TAKEN},"amount":1500,${INFO},"payment_mode":"card"}`,
      `- < 200 application/json {"id":"<id 2>","state":"OPEN","amount":1500,${READ},${INFO}}`,
      `+ < 200 application/json {"id":"<id 1>","state":"FINISHED","amount":1500,${READ},"payment":{"id":<payment 1>,"type":"credit_card","installments":1},${INFO}}`,
    ]);
  });

  limitation('LIM-15', async () => {
    const sale = create(SALE, 'sale', { 'x-ttl-store-preference': '10' });
    expect(await compare([sale, { advance_ms: 11_000 }, get(), { advance_ms: 20_000 }, get()])).toEqual([
      `- < 200 application/json {"id":"<id 1>","state":"ABANDONED","amount":1500,${READ},${INFO}}`,
      `+ < 200 application/json {"id":"<id 1>","state":"OPEN","amount":1500,${READ},${INFO}}`,
    ]);
  });

  limitation('LIM-17', async () => {
    const external_reference = 'x'.repeat(70_000);
    expect(await compare([create({ amount: 1500, additional_info: { external_reference } })])).toEqual([
      `- ${TAKEN},"amount":1500,"additional_info":{"external_reference":"${external_reference}"},"payment_mode":"card"}`,
      '+ < 413 application/json {"error":"413","message":"Request body is too large","status":413}',
    ]);
  });

  limitation('LIM-18', async () => {
    const payments = [
      { type: 'debit_card', installments: 2 },
      { type: 'credit_card', installments: 73 },
      { type: 'credit_card', installments: 4 },
      { type: 'debit_card', installments_cost: 'buyer' },
    ];
    for (const payment of payments) {
      const named = 'installments' in payment ? 'payment.installments' : 'payment.installments_cost';
      expect(await compare([create({ amount: 1500, payment })], { merchant: BRAZIL })).toEqual([
        `- < 400 application/json {"error":"400","message":"${named} is not valid","status":400}`,
        `+ ${TAKEN},"amount":1500,"payment":${JSON.stringify(payment)},"payment_mode":"card"}`,
      ]);
    }
  });

  limitation('LIM-19', async () => {
    expect(await compare([create({ amount: 1500, description: 'x', payment: { type: 'debit_card' } })])).toEqual([
      `- ${TAKEN},"amount":1500,"payment_mode":"card"}`,
      `+ ${TAKEN},"amount":1500,"description":"x","payment":{"type":"debit_card"},"payment_mode":"card"}`,
    ]);
  });

  limitation('LIM-20', async () => {
    const script: Step[] = [create(SALE), cancel(), { notices: 1 }];
    const senders = (options: Partial<WorldOptions>): Promise<Record<string, unknown>> =>
      inEachWay({ merchant: ARGENTINA, ...options }, ['direct', 'orders'], async (world) => {
        await newTill(world).run(script);
        return world.receiver.received[0]?.headers['user-agent'];
      });
    expect(await senders({})).toEqual({ direct: 'restclient-node/4.15.3', orders: 'Puente' });
    const set = { environment: { PUENTE_NOTICES_USER_AGENT: 'restclient-node/4.15.3' } };
    expect((await senders(set)).orders).toBe('restclient-node/4.15.3');
  });

  limitation('LIM-70', async () => {
    const script = [create({ amount: 1500, external_reference: 'sale-77' }), { person: 'pay' }, TOLD_PAID, get()];
    expect(await compare(script)).toEqual([]);
    expect(await compare(script.slice(0, 1), { merchant: BRAZIL })).toEqual([]);
    const refused = { call: 'POST /devices/{device}/payment-intents', body: { amount: 1500, external_reference: 'x' } };
    const reports = await reportsOf(() => compare([refused], { merchant: MEXICO }));
    expect(reports.flatMap(hitsIn)).toEqual([]);
  });

  const inMode = (mode: string, script: Step[]): Promise<string[]> =>
    compare([{ sandbox: `terminals/{merchant}/{device}`, body: { operating_mode: mode } }, ...script]);

  limitation('LIM-71', async () => {
    const found = await inMode('SELF_SERVICE', [
      { call: 'GET /devices' },
      { call: 'PATCH /devices/{device}', body: { operating_mode: 'PDV' } },
    ]);
    expect(found).toHaveLength(4);
    expect(found[0]).toContain('"operating_mode":"STANDALONE"');
    expect(found[1]).toContain('"operating_mode":"SELF_SERVICE"');
    expect(found.slice(2)).toEqual([
      '- < 200 application/json {"operating_mode":"PDV"}',
      `+ < 409 application/json {"error":"409","message":"The device is in SELF_SERVICE mode, which can not be changed from here","status":409}`,
    ]);
  });

  limitation('LIM-72', async () => {
    expect(await inMode('UNDEFINED', [{ call: 'GET /devices' }])).toEqual([]);
  });
});

test('an ordinary sale meets none but that its notice names Puente', async () => {
  const script: Step[] = [create(SALE), { person: 'pick_up' }, get(), { person: 'pay' }, TOLD_PAID, get(), status()];
  const [report] = await reportsOf(() => compare(script));
  expect(report && hitsIn(report)).toEqual([['LIM-20', 1]]);
});

test('every limitation of Point has its test, and every test its entry', () => {
  expect(limitations.map(({ test: name }) => name)).toEqual([...shown]);
  expect(limitations.map(({ id }) => id)).toEqual([...shown]);
});
