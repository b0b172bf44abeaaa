/** `puente check`, `explain` and `tables`: every sentence in golden files, by each form of a message. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { ARGENTINA, DEVICE, OPS_TOKEN, POINT, startBench } from '../../kit.ts';
import { HOUSE, puente } from '../../run-cli.ts';
import { command } from '../moves/command.ts';
import { toldBy as allToldBy } from './golden.ts';

const directory = mkdtempSync(join(tmpdir(), 'puente-explain-'));
const file = (name: string, text: string): string => {
  mkdirSync(dirname(join(directory, name)), { recursive: true });
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};
const ROW = 'sites: [MLC], why: Our shops in Chile print the table on the receipt.';
const own = dirname(
  dirname(
    file(
      'own/point/create.request.yaml',
      `unknown: note\nrows:\n  - { copy: body.description, to: body.description, with: short_description, advice: Keep descriptions short., ${ROW} }\n`,
    ),
  ),
);
file(
  `own/merchants/${ARGENTINA}/point/create.request.yaml`,
  `rows:\n  - { remove: body.config.point.ticket_number, ${ROW} }\n  - { drop: body.additional_info.ticket_number, policy: note, advice: Leave the number out., ${ROW} }\n  - { const: Shop, to: body.description, sites: [MLU], why: A constant of this shop alone. }\n`,
);
file(
  `own/merchants/${ARGENTINA}/point/errors.yaml`,
  'any: [{ status: 429, error: unavailable, why: This till knows 503 and no 429. }]\n',
);

const toldBy = (golden: string, lines: readonly (readonly string[])[], run = command) =>
  allToldBy(golden, lines, run, [
    [directory, 'DIRECTORY'],
    [/(?<![\w-])[0-9a-f]{12}\b/g, 'REVISION'],
  ]);

it('check', async () => {
  const broken = join(directory, 'broken');
  cpSync(join(HOUSE, 'mappings'), broken, { recursive: true });
  const table = join(broken, 'point', 'create.request.yaml');
  writeFileSync(table, readFileSync(table, 'utf8').replace('to: body.type', 'to: body.kind'));
  file(
    'wrong/point/create.request.yaml',
    'rows:\n  - { drop: body.amount, policy: silent, why: Not needed any more. }\n',
  );
  mkdirSync(join(directory, 'empty'));
  await toldBy('check', [
    ['check'],
    ['check', '--folder', own],
    ['check', '--mappings', broken],
    ...['wrong', 'empty', 'nowhere'].map((name) => ['check', '--folder', join(directory, name)]),
  ]);
});

const intents = `${POINT}/devices/${DEVICE}/payment-intents`;
const INTENT = '3f0e6a52-9f0b-4c3e-8a51-0d5f1f0c9a77';
const json = (name: string, value: object): string => file(`${name}.json`, JSON.stringify(value));
const body = {
  amount: 1999,
  notification_url: 'https://shop.example/n',
  additional_info: { external_reference: 'a b' },
};
const create = (more: object = {}) => ({ method: 'POST', path: intents, body: { ...body, ...more } });
const payment_method = { id: 'visa', type: 'credit_card', installments: 1 };
const order = {
  id: 'ORD01K371WBFDS4MD3JG0K8ZMECBE',
  ...{ type: 'point', user_id: ARGENTINA, status: 'processed', status_detail: 'accredited' },
  ...{ created_date: '2026-01-31T17:10:37.000Z', last_updated_date: '2026-01-31T17:11:07.000Z' },
  config: { point: { terminal_id: DEVICE } },
  transactions: { payments: [{ amount: '15.00', status: 'processed', reference_id: '12345678', payment_method }] },
};

it('explain, of requests', async () => {
  const text = json('create', { ...create(), headers: { 'X-platform-id': 'dev_1' } });
  const described = json('described', create({ description: 'Table 4' }));
  await toldBy('explain-requests', [
    ['explain', text],
    ['explain', described, '--site', 'MLM'],
    ['explain', described, '--site', 'MLC', '--folder', own],
    ['explain', described, '--site', 'MLU', '--folder', own, '--merchant', ARGENTINA],
    ['explain', json('half', create({ amount: 12.5 }))],
    ['explain', file('cancel.http', `DELETE ${intents}/${INTENT} HTTP/1.1\r\nHost: x\r\n\r\n`)],
    ['explain', file('part.http', 'POST /v1/payments/131313131313/refunds\n\n{"amount": 10.50}')],
    ['explain', file('read.http', 'GET /v1/payments/131313131313')],
    ['explain', file('other.http', 'GET /v1/customers/1')],
    ['explain', 'request.http', '--json'],
  ]);
  // From standard input, in a process of its own.
  const piped = await puente(['explain', '--json'], { input: readFileSync(text, 'utf8') });
  expect(JSON.parse(piped.out)).toMatchObject({ upstream: { body: { integration_data: { platform_id: 'dev_1' } } } });
});

it('explain, of what upstream answers and announces', async () => {
  const queued = { errors: [{ code: 'already_queued_order_on_terminal' }] };
  const refusal = ['--operation', 'point.create_intent', '--status'];
  const paid = json('order', order);
  await toldBy('explain-upstream', [
    ['explain', paid],
    ['explain', paid, '--operation', 'point.last_status', '--json'],
    ['explain', paid, '--as', 'notice'],
    ['explain', json('open', { ...order, status: 'at_terminal' }), '--as', 'notice'],
    ['explain', json('canceled', { type: 'order', action: 'order.canceled', data: { ...order, status: 'canceled' } })],
    ['explain', json('failed', { ...order, status: 'failed' }), '--declined', 'finished'],
    ['explain', json('queued', queued), ...refusal, '409'],
    ['explain', file('queued.http', `HTTP/1.1 409 Conflict\n\n${JSON.stringify(queued)}`), ...refusal.slice(0, 2)],
    ['explain', json('strange', { errors: [{ code: 'brand_new' }] }), ...refusal, '422'],
    [
      'explain',
      json('busy', { errors: [{ code: 'busy' }] }),
      ...refusal,
      '429',
      '--folder',
      own,
      '--merchant',
      ARGENTINA,
    ],
  ]);
});

it('explain, of what it does not understand', async () => {
  const words = [
    '',
    'hello',
    'GET /x HTTP/1.1\nno colon',
    'POST /x HTTP/1.1\n\n{"a":1,"a":2}',
    'GET http://[ HTTP/1.1',
  ];
  await toldBy('explain-refused', [
    ...words.map((text, index) => ['explain', file(`text-${index}.txt`, text)]),
    ['explain', json('pathless', { path: '/x' })],
    ['explain', file('get.http', 'GET /x'), '--as', 'answer'],
    ['explain', json('order', order), '--operation', 'point.get_intnt'],
    ['explain', json('paging', { paging: 'all' })],
    ...[[], ['--status', '409'], ['--status', '200', '--operation', 'point.create_intent']].map((more) => [
      ...['explain', json('queued', { errors: [{ code: 'x' }] })],
      ...more,
    ]),
    ['explain', json('numbered', { ...order, id: 7 }), '--operation', 'point.get_intent'],
    ['explain', json('event', { type: 'order', action: 'order.processed', data: { id: order.id } })],
    ['explain', file('cut.http', 'HTTP/1.1 200 OK\r\n\r\n{"id":')],
    ['explain', join(directory, 'nowhere.json')],
    ['explain', json('order', order), '--as', 'letter'],
  ]);
});

it('tables', async () => {
  for (const folder of [undefined, own]) {
    const bench = await startBench(folder === undefined ? {} : { PUENTE_MAPPINGS_FOLDER: folder });
    const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN };
    await toldBy(folder === undefined ? 'tables' : 'tables-own', [['tables']], (words) => command(words, env));
    await bench.close();
  }
});
