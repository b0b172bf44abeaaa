/** Settings of a merchant that a newer process added pass through every change that an operator makes with this one. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, it } from 'vitest';
import { ARGENTINA } from '../kit.ts';
import { closing } from '../open.ts';
import { openShop, type Shop } from '../proxy/http/till.ts';

const MERCHANT = `/api/merchants/${ARGENTINA}`;
const opened: Shop[] = [];
afterEach(async () => {
  for (const shop of opened.splice(0).reverse()) await shop.close();
});

async function open(settings: Record<string, string> = {}): Promise<Shop> {
  const shop = await openShop(settings);
  opened.push(shop);
  return shop;
}

function inDatabase<Result>(data_dir: string, work: (database: Database.Database) => Result): Result {
  using database = closing(new Database(join(data_dir, 'puente.db')));
  return work(database);
}

it('are kept by a move, a rollback, a brown-out and a change of settings; its till is served', async () => {
  const first = await open();
  await first.notify(ARGENTINA, { dialect: 'point_integration_ipn' });
  await first.app.close();
  const { data_dir } = first;
  // A new window puts them in the order of their ends.
  const windows = [3, 2].map((month) => ({
    ...{ id: `window ${month}`, from: Date.UTC(2126, month), until: Date.UTC(2126, month) + 1, reason: 'a drill' },
    newest: `of ${month}`,
  }));
  inDatabase(data_dir, (database) =>
    database
      .prepare('UPDATE merchants SET settings = json_patch(settings, ?)')
      .run(JSON.stringify({ newest: 'kept', kinds: { newest: 'kept' }, brownouts: windows })),
  );
  const { ops, freshDevice, create } = await open({ PUENTE_DATA_DIR: data_dir });
  expect((await ops(MERCHANT)).text).not.toContain('newest');
  const window = { from: '2126-01-01T00:00:00Z', until: '2126-01-01T01:00:00Z' };
  for (const [method, path, change] of [
    ['PUT', MERCHANT, { declined: 'finished' }],
    ['PUT', `${MERCHANT}/stage`, { stage: 'orders' }],
    ['POST', '/api/brownouts', { merchants: [ARGENTINA], ...window }],
    ['POST', '/api/brownouts/window 3/abort', {}],
    ['POST', `${MERCHANT}/rollback`, {}],
  ] as const) {
    const { revision } = (await ops(MERCHANT)).body as { revision: number }; // every view has one
    const body = { ...change, ...(method === 'PUT' ? { revision } : {}), reason: 'a test changes it' };
    const { status, text } = await ops(path, { method, body });
    expect([status < 300, text]).toEqual([true, text]);
    const stored = inDatabase(data_dir, (database) => database.prepare('SELECT settings FROM merchants').pluck().get());
    const kept = { newest: 'kept', kinds: { newest: 'kept' }, dialect: 'point_integration_ipn' };
    const brownouts = expect.arrayContaining(windows.map(({ id, newest }) => expect.objectContaining({ id, newest })));
    expect(JSON.parse(String(stored))).toMatchObject({ ...kept, brownouts });
  }
  expect((await create(freshDevice())).status).toBe(201);
});
