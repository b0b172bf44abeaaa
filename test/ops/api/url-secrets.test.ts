/** Receiver URLs hold keys in path and query: requests use the whole URL, and nothing shows or stores it in clear. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NoticeView } from '../../../src/ops/notices.ts';
import { ARGENTINA, eventually, OPS_TOKEN, type Receiver, startReceiver } from '../../kit.ts';
import { closing } from '../../open.ts';
import { openShop, type Shop } from '../../proxy/http/till.ts';
import { puente } from '../../run-cli.ts';
import { command } from '../moves/command.ts';

const MERCHANT = `/api/merchants/${ARGENTINA}`;
/** Each key is in one place of one URL. */
const KEYS = { path: 'PathKey73', query: 'QueryKey74' };

let shop: Shop;
let receiver: Receiver;
const opened: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  receiver = await startReceiver();
  opened.push(receiver);
  await open();
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function open(settings: Record<string, string> = {}): Promise<void> {
  shop = await openShop(settings);
  opened.push(shop);
}

function expectNoKey(text: string, where: string): void {
  for (const key of Object.values(KEYS)) expect(text.includes(key), `${key} in ${where}`).toBe(false);
}

/** A paid sale at a terminal; resolves when its notices have arrived. */
async function tellOne(): Promise<void> {
  const told = receiver.received.length;
  const device = shop.freshDevice();
  await shop.create(device);
  await shop.atTerminal('pay', { device });
  await receiver.waitFor(told + 2);
}

function delivered(count: number): Promise<NoticeView[]> {
  return eventually(
    async () => ((await shop.ops('/api/notices')).body as { notices: NoticeView[] }).notices, // the API's shape
    (notices) => notices.filter(({ state }) => state === 'delivered').length >= count,
  );
}

it('a key in the path or the query of a URL reaches the receiver and is in no output of the commands [F133]', async () => {
  const { origin } = new URL(receiver.url);
  const env = { PUENTE_OPS_TOKEN: OPS_TOKEN, PUENTE_OPS_URL: shop.app.ops_url };
  const url = `${origin}/hooks/${KEYS.path}?k=${KEYS.query}`;
  // Process lists show arguments, so this URL comes from the environment.
  const set = await puente(
    ['merchants', 'set', ARGENTINA, '--reason', 'the till listens there', '--notify', '-', '--new'],
    {
      env: { ...env, PUENTE_NOTICE_URL: url },
    },
  );
  await tellOne();
  expect(receiver.received[0]?.path).toBe(`/hooks/${KEYS.path}`);
  expect(receiver.received[0]?.query.get('k')).toBe(KEYS.query);
  const [notice] = await delivered(1);
  const shown = [set];
  for (const argv of [
    ['merchants', 'list'],
    ['merchants', 'list', '--json'],
    ['merchants', 'show', ARGENTINA],
    ['merchants', 'show', ARGENTINA, '--json'],
    ['notices', 'list', '--json'],
    ['notices', 'show', notice?.id ?? ''],
  ])
    shown.push(await command(argv, env));
  for (const { code, out, err } of shown) {
    expect([code, err]).toEqual([0, '']);
    expectNoKey(out, 'the output');
  }
  expect(shown[1]?.out).toContain(`${origin}/…?…`);
  expect(shown.at(-1)?.out).toContain(`${origin}/…?…`);
});

it('a URL that an older build left in clear is encrypted by the next start, and still gets its notices [F55]', async () => {
  const { origin } = new URL(receiver.url);
  await shop.notify(ARGENTINA, { dialect: 'point_integration_ipn' });
  const { data_dir } = shop;
  await shop.app.close();
  keepInClear(data_dir, `${origin}/${KEYS.path}`);
  await open({ PUENTE_DATA_DIR: data_dir });
  expect(storedMerchant(data_dir)).toMatchObject({ url: null, sealed: 1 });
  expectNoKeyOnDisk();
  const seen = await shop.ops(MERCHANT);
  expect(seen.body).toMatchObject({ settings: { notice_url: { value: `${origin}/…`, from: 'merchant' } } });
  await tellOne();
  expect(receiver.received.map((delivery) => delivery.path)).toEqual(Array(2).fill(`/${KEYS.path}`));
});

/** Searches every file while Puente runs; the merchant's id proves that the search reads the right bytes. */
function expectNoKeyOnDisk(): void {
  const files = readdirSync(shop.data_dir).filter((name) => name.startsWith('puente.db'));
  const all = files.map((name) => readFileSync(join(shop.data_dir, name)).toString('latin1'));
  expect(all.some((bytes) => bytes.includes(ARGENTINA))).toBe(true);
  expect(existsSync(join(shop.data_dir, 'puente.db'))).toBe(true);
  all.forEach((bytes, index) => void expectNoKey(bytes, files[index] ?? ''));
}

/** Stores the URL as schema 1 did. */
function keepInClear(data_dir: string, url: string): void {
  const database = new Database(join(data_dir, 'puente.db'));
  database
    .prepare("UPDATE merchants SET settings = json_set(settings, '$.notice_url', ?), sealed_notice_url = NULL")
    .run(url);
  database.close();
}

function storedMerchant(data_dir: string): unknown {
  using database = closing(new Database(join(data_dir, 'puente.db'), { readonly: true }));
  return database
    .prepare(
      "SELECT json_extract(settings, '$.notice_url') AS url, sealed_notice_url IS NOT NULL AS sealed FROM merchants",
    )
    .get();
}
