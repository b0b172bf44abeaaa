/** A start with tables of one's own: each merchant's calls use its own, the revision is recorded, bad ones open no door. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import * as acts from '../faults/fault-server-acts.ts';
import { openTill, startUpstream } from '../faults/upstream-stand.ts';
import {
  ARGENTINA,
  type Bench,
  BRAZIL,
  call,
  DEVICE,
  eventually,
  OPS_TOKEN,
  POINT,
  startBench,
  tables,
} from '../kit.ts';

const folder = mkdtempSync(join(tmpdir(), 'puente-own-'));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

const DESCRIBED = (words: string): string =>
  `rows:\n  - { const: ${words}, to: body.description, why: Our receipts name the shop that sold. }\n  - { drop: body.description, policy: silent, why: Our receipts name the shop alone. }\n`;
const CREATE = 'point/create.request.yaml';

interface Line {
  action: string;
  subject: string;
  change: string;
  detail: unknown;
}

async function linesOf(ops: Bench['ops']): Promise<Line[]> {
  const { lines } = (await ops('/api/audit?action=tables')).body as { lines: Line[] }; // the view of the audit
  return lines;
}

const data_dir = mkdtempSync(join(tmpdir(), 'puente-test-'));

async function started(with_folder: boolean, use: (bench: Bench) => Promise<void>): Promise<void> {
  const own = with_folder ? { PUENTE_MAPPINGS_FOLDER: folder } : {};
  const bench = await startBench({ PUENTE_DATA_DIR: data_dir, PUENTE_SANDBOX_KEEPS_WORLD: 'true', ...own });
  try {
    await use(bench);
  } finally {
    await bench.app.close();
  }
}

it('uses the tables of each merchant, records their revision, and writes what changed since the last start', async () => {
  await started(false, async ({ ops }) => expect(await linesOf(ops)).toEqual([]));
  write(`merchants/${ARGENTINA}/${CREATE}`, DESCRIBED('Kiosk'));
  const shipped = tables().revision;
  let own = '';
  await started(true, async ({ till, ops, sandbox }) => {
    const view = (await ops('/api/tables')).body as {
      revision: string;
      merchants: { merchant_id: string; revision: string }[];
    };
    own = view.merchants[0]?.revision ?? '';
    expect(view).toMatchObject({ revision: shipped, folder, merchants: [{ merchant_id: ARGENTINA }] });
    const ids = new Map<string, string>();
    // The merchant with tables of its own calls last: the next start must not take its revision for that of all.
    for (const merchant of [BRAZIL, ARGENTINA]) {
      const answer = await till(`${POINT}/devices/${DEVICE}/payment-intents`, { merchant, body: { amount: 1500 } });
      ids.set(merchant, (answer.body as { id: string }).id);
      expect([merchant, answer.status]).toEqual([merchant, 201]);
    }
    const described = [...sandbox.world.orders.values()].map(({ merchant_id, description }) => [
      merchant_id,
      description,
    ]);
    expect(described).toEqual(
      expect.arrayContaining([
        [ARGENTINA, 'Kiosk'],
        [BRAZIL, undefined],
      ]),
    );
    for (const [merchant, revision] of [
      [ARGENTINA, own],
      [BRAZIL, shipped],
    ] as const) {
      const { traces } = (await ops(`/api/trace?id=${ids.get(merchant)}`)).body as { traces: unknown[] };
      expect(traces).toMatchObject([{ sale: { tables_revision: revision }, tables_changed: false }]);
    }
    expect(await linesOf(ops)).toMatchObject([
      {
        subject: ARGENTINA,
        change: `tables: the default → ${own}`,
        detail: { before: { tables: null }, after: { tables: own } },
      },
    ]);
    const { findings } = (await ops('/api/doctor')).body as { findings: { name: string; says: string }[] };
    expect(findings.find(({ name }) => name === 'tables')?.says).toBe(
      `revision ${shipped}, the tables of this build; merchants with their own: ${ARGENTINA}: ${own}`,
    );
  });
  await started(true, async ({ ops }) => expect(await linesOf(ops)).toHaveLength(1));
  write(CREATE, DESCRIBED('Shop'));
  await started(true, async ({ ops }) => {
    const { revision, merchants } = (await ops('/api/tables')).body as {
      revision: string;
      merchants: { revision: string }[];
    };
    expect((await linesOf(ops)).map(({ change }) => change)).toEqual([
      `tables: ${own} → ${merchants[0]?.revision}`,
      `tables: ${shipped} → ${revision}`,
      `tables: the default → ${own}`,
    ]);
  });
  await started(false, async ({ ops }) => {
    const [merchant, all] = await linesOf(ops);
    expect([merchant?.subject, merchant?.detail]).toMatchObject([ARGENTINA, { after: { tables: null } }]);
    expect(all?.detail).toMatchObject({ after: { tables: shipped } });
  });
});

it('warns of tables of a merchant that was never seen, until it is', async () => {
  const alone = mkdtempSync(join(tmpdir(), 'puente-own-'));
  const file = join(alone, 'merchants', ARGENTINA, CREATE);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, DESCRIBED('Kiosk'));
  const bench = await startBench({ PUENTE_MAPPINGS_FOLDER: alone });
  const warned = async () =>
    (
      (await bench.ops('/api/doctor')).body as { findings: { name: string; level: string; says: string }[] }
    ).findings.find(({ name }) => name === 'tables of merchants'); // the API's shape
  expect(await warned()).toMatchObject({
    level: 'warning',
    says: `tables of merchants that Puente has never seen: merchants/${ARGENTINA}`,
  });
  await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { merchant: ARGENTINA, body: { amount: 1500 } });
  expect(await warned()).toBeUndefined();
  await bench.close();
});

it('opens no door while a proof fails, and names file, line and what would fit', async () => {
  write(
    'point/mode.request.yaml',
    'rows:\n  - { copy: body.operating_mod, to: "body.terminals[0].operating_mode", why: The same words in both APIs. }\n',
  );
  const start = startBench({ PUENTE_MAPPINGS_FOLDER: folder });
  await expect(start).rejects.toThrow(
    `${folder}/point/mode.request.yaml:2:7 row own.1: the source changeModeRequest has no body.operating_mod; did you mean body.operating_mode?`,
  );
  rmSync(join(folder, 'point/mode.request.yaml'));
});

it('a create in doubt is sent again in its stored bytes after its tables changed [F58]', async () => {
  const upstream = await startUpstream();
  const kept = mkdtempSync(join(tmpdir(), 'puente-test-'));
  const settings = { PUENTE_DATA_DIR: kept, PUENTE_MAPPINGS_FOLDER: folder };
  write(CREATE, DESCRIBED('Older'));
  rmSync(join(folder, 'merchants'), { recursive: true });
  upstream.onCreate = (honest) => acts.unheard(honest, acts.reset);
  const older = await openTill(upstream.url, settings);
  const device = older.device();
  expect((await older.create(device)).status).toBe(504);
  const { tables_revision } = older.row(device);
  await older.close();
  const before = upstream.creates().length;
  write(`merchants/${ARGENTINA}/${CREATE}`, DESCRIBED('Newer'));
  upstream.onCreate = (honest) => honest;
  const newer = await openTill(upstream.url, settings);
  const row = await eventually(
    async () => newer.row(device),
    ({ state }) => state === 'LIVE',
  );
  const tries = upstream.creates(row.idempotency_key).map(({ body }) => body.toString('utf8'));
  expect(tries.length).toBeGreaterThan(before);
  expect([...new Set(tries)]).toEqual([expect.stringContaining('"description":"Older"')]);
  expect(newer.row(device).tables_revision, 'the revision that made the bytes').toBe(tables_revision);
  expect((await newer.create(newer.device())).status).toBe(201);
  expect(upstream.creates().at(-1)?.body.toString('utf8'), 'the control').toContain('"description":"Newer"');
  await newer.close();
  await upstream.close();
});

it('explains with the tables of a merchant on the ops door, and refuses what it can’t explain with the form that it takes', async () => {
  write(`merchants/${ARGENTINA}/${CREATE}`, DESCRIBED('Kiosk'));
  const bench = await startBench({ PUENTE_MAPPINGS_FOLDER: folder });
  const ask = (body: object) => call(`${bench.app.ops_url}/api/explain`, { token: OPS_TOKEN, body });
  const text = `POST ${POINT}/devices/${DEVICE}/payment-intents HTTP/1.1\n\n{"amount":1500}`;
  const own = (await ask({ text, merchant: ARGENTINA })).body;
  expect(own).toMatchObject({ kind: 'request', upstream: { body: { description: 'Kiosk' } } });
  expect((own as { fired: { row: string }[] }).fired.map(({ row }) => row)).toContain(
    'point.create.request#merchant.1',
  );
  expect((await ask({ text })).body).toMatchObject({ upstream: { body: { description: 'Older' } } });
  const refused = await ask({ text: 'hello' });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('the first line must be like')]);
  await bench.close();
});
