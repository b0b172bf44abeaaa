/** Every log line about a sale contains its id: lines of its calls, upstream calls, events and notices. */
import { afterEach, expect, it } from 'vitest';
import type { Log, LogFields } from '../../../src/proxy/log.ts';
import { ARGENTINA, eventually, type Receiver, startReceiver } from '../../kit.ts';
import { idOf, openShop, type Shop } from './till.ts';

let shop: Shop;
let receiver: Receiver;
let lines: { message: string; fields: LogFields }[];

afterEach(async () => {
  await shop.close();
  await receiver.close();
});

async function open(): Promise<void> {
  lines = [];
  const keep = (message: string, fields: LogFields = {}): void => void lines.push({ message, fields });
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep };
  shop = await openShop({ PUENTE_READS_FRESH_MS: '0' }, { log });
  receiver = await startReceiver(() => 500);
  await shop.notify(ARGENTINA, { notice_url: receiver.url });
  lines = [];
}

const linesOf = (message: string): LogFields[] =>
  lines.filter((line) => line.message === message).map(({ fields }) => fields);

it('from its create to its notice, also for what went wrong on the way', async () => {
  await open();
  const device = shop.freshDevice();
  const id = idOf(await shop.create(device, { additional_info: { external_reference: 'a b', unknown_to_all: 1 } }));
  await shop.fault({
    method: 'GET',
    path: '/v1/orders/*',
    kind: 'error',
    status: 500,
    code: 'internal_error',
    times: 1,
  });
  await shop.read(id);
  await shop.cancel(device, id);
  await shop.atTerminal('pay', { device });
  await receiver.waitFor(1);
  await eventually(
    () => Promise.resolve(linesOf('notice not delivered')),
    (found) => found.length > 0,
  );
  expect(linesOf('call').map(({ operation }) => operation)).toEqual([
    'point.create_intent',
    'point.get_intent',
    'point.cancel_intent',
  ]);
  expect(linesOf('order could not be read; the stored state is used')).toHaveLength(1);
  expect(lines.filter(({ fields }) => fields.legacy_id !== id)).toEqual([]);
});

it('and a line about no sale names none', async () => {
  await open();
  await shop.till('/point/integration-api/devices');
  expect(linesOf('call')).toEqual([expect.not.objectContaining({ legacy_id: expect.anything() })]);
});
