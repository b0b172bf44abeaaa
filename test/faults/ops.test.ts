/** The commands never open the database, directly or by an import; errors have an id and no internals (F131, F136). */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/proxy/telemetry/telemetry.ts';
import { type Answer, ARGENTINA, eventually, POINT } from '../kit.ts';
import { openForAll } from '../open.ts';
import { idOf, openShop } from '../proxy/http/till.ts';
import { HOUSE } from '../run-cli.ts';

const SOURCES = join(HOUSE, 'src');
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/^(?:import|export)\s(?!type\b)[^;]*?from '([^']+)'|^import '([^']+)'/gm)].map(
    ([, from, bare]) => from ?? bare ?? '',
  );
}

/** Everything loaded with a file: our paths below `src`, and package names. */
function loadedBy(first: string): Set<string> {
  const seen = new Set<string>();
  const waiting = [first];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const name = relative(SOURCES, file);
    if (seen.has(name)) continue;
    seen.add(name);
    for (const wanted of importsOf(file)) {
      if (wanted.startsWith('.')) waiting.push(join(dirname(file), wanted));
      else seen.add(wanted);
    }
  }
  return seen;
}

describe('a command', () => {
  const commands = readdirSync(join(SOURCES, 'ops', 'cli'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );

  it.each(commands)('%s loads no store and no database driver: it can only use the ops API [F131]', (name) => {
    const loaded = [...loadedBy(join(SOURCES, 'ops', 'cli', name))];
    expect(loaded.filter((one) => one === 'better-sqlite3' || one.startsWith('store/'))).toEqual([]);
  });

  it('the check itself finds a driver where there is one [F131]', () => {
    expect(commands.length).toBeGreaterThan(15);
    expect([...loadedBy(join(SOURCES, 'main.ts'))]).toEqual(
      expect.arrayContaining(['better-sqlite3', 'store/sqlite/store.ts']),
    );
  });
});

describe('an error answer', () => {
  const lines: string[] = [];
  const shop = openForAll(() => openShop({}, { log: createLog('info', { write: (line) => void lines.push(line) }) }));
  const INSIDE = /node_modules|\.ts\b|\bat \w+ \(|SQLITE|puente\.db|\/src\/|undici|zod/i;

  it('to a till has the legacy shape, an id by which operators find it, and no internals [F136]', async () => {
    const device = shop.freshDevice();
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'error', status: 418, code: 'teapot' });
    // All are Puente's own answers; legacy's are passed on unchanged.
    const answers: Answer[] = [
      await shop.create(device),
      await shop.create(shop.freshDevice(), { amount: 'x' }),
      await shop.till(`${POINT}/devices/${shop.freshDevice()}/payment-intents`, { body: '{"amount":' }),
      await shop.till(`${POINT}/payment-intents/${idOf(await shop.create(shop.freshDevice()))}?a=1&a=2`),
      await shop.till(`/instore/qr/seller/collectors/${ARGENTINA}/pos/NOBODY/orders`, { method: 'PUT', body: {} }),
      await shop.create('a%20b'),
    ];
    await shop.clearFaults();
    for (const { status, body, headers, text } of answers) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(body).toMatchObject({ message: expect.any(String), status });
      expect(text).not.toMatch(INSIDE);
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    }
    const found = await eventually(
      () => shop.ops(`/api/trace?id=${answers[1]?.headers['x-request-id']}`),
      ({ status }) => status === 200,
    );
    expect(found.text).toContain('point.create_intent');
    const fine = await shop.create(shop.freshDevice());
    expect(idOf(fine)).toBeTruthy();
    expect(fine.headers['x-request-id'], 'a good answer is as it was').toBeUndefined();
  });
});
