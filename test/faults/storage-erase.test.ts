/** Erasing a merchant: refused while it has open work; then all its rows and bytes are gone and the chain verifies. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Erasure } from '../../src/ops/upkeep/erase.ts';
import { ARGENTINA, BEN, BRAZIL, EVA, eventually, PEOPLE, startReceiver } from '../kit.ts';
import { openForAll } from '../open.ts';
import { idOf, openShop } from '../proxy/http/till.ts';

/** Words that only this merchant's rows have. */
const MARKS = ['Torta-de-la-abuela', 'TICKET-ERASE-7', 'receiver-key-of-the-merchant'];

const folder = mkdtempSync(join(tmpdir(), 'puente-erase-'));
const receiver = openForAll(() => startReceiver());
const shop = openForAll(() => openShop({ PUENTE_DATA_DIR: folder, ...PEOPLE }));

const erase = async (body: object, token: string = EVA.token): Promise<{ status: number; body: Erasure }> => {
  const answer = await shop.ops(`/api/merchants/${ARGENTINA}/erase`, { method: 'POST', body, token });
  return { status: answer.status, body: answer.body as Erasure }; // or a refusal, read by its text
};

function marksOnDisk(): string[] {
  const bytes = readdirSync(folder)
    .filter((name) => name.startsWith('puente.db'))
    .map((name) => readFileSync(join(folder, name)));
  return MARKS.filter((mark) => bytes.some((file) => file.includes(mark)));
}

it('counts first, refuses while work is open, and then leaves neither row nor byte', async () => {
  await shop.notify(ARGENTINA, { notice_url: `${receiver.url}?key=receiver-key-of-the-merchant`, capture: true });
  const device = shop.freshDevice();
  const body = {
    description: 'Torta-de-la-abuela',
    additional_info: { external_reference: 'TICKET-ERASE-7', print_on_terminal: false },
  };
  const sale = idOf(await shop.create(device, body));
  const other = idOf(await shop.create(shop.freshDevice(), {}, { merchant: BRAZIL }));
  const open = await erase({ apply: true, reason: 'left us' });
  expect([open.status, open.body]).toMatchObject([
    409,
    { message: expect.stringContaining('1 sale on orders is open') },
  ]);
  await shop.atTerminal('pay', { device });
  await receiver.waitFor(1);
  const counted = await eventually(
    () => erase({}),
    ({ body }) => body.in_the_way.length === 0 && body.holdings.exchanges > 0,
  );
  expect(counted.body).toMatchObject({ erased: false, holdings: { links: 1, notices: expect.any(Number), tokens: 1 } });
  expect(marksOnDisk()).toEqual(expect.arrayContaining(['Torta-de-la-abuela', 'TICKET-ERASE-7']));
  expect((await erase({ apply: true, reason: 'left us' }, BEN.token)).status).toBe(403);
  expect((await erase({ apply: true })).status).toBe(400);
  const done = await erase({ apply: true, reason: 'left us' });
  expect(done.body).toMatchObject({ erased: true, holdings: { links: 1, tokens: 1 } });
  expect(marksOnDisk()).toEqual([]);
  expect((await shop.ops(`/api/merchants/${ARGENTINA}`)).body).toMatchObject({ revision: 0 });
  expect((await erase({})).status).toBe(404);
  expect((await shop.read(sale)).status).toBe(404);
  expect((await shop.read(other, { merchant: BRAZIL })).body).toMatchObject({ id: other, state: 'OPEN' });
  expect((await shop.ops('/api/audit/verify')).body).toMatchObject({ intact: true });
  const lines = (await shop.ops(`/api/audit?subject=${ARGENTINA}&action=erase`)).body as { lines: object[] }; // the API's shape
  expect(lines.lines).toMatchObject([{ who: EVA.name, reason: 'left us', detail: { erased: { links: 1 } } }]);
  // The merchant can start anew.
  expect((await shop.create(device)).status).toBe(201);
});
