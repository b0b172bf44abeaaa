/** A shadow can't write: by its types, by its imports, and with an upstream that counts every write as a failure. */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type DoubleReadTools,
  doubleRead,
  isDoubleRead,
  type ReadCall,
  readNames,
  readOnly,
} from '../../../src/proxy/shadow/double-read.ts';
import { type ShadowTools, shadowOf } from '../../../src/proxy/shadow/shadow.ts';
import { createUpstream, type UpstreamClient } from '../../../src/proxy/upstream/client.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { listen, shut } from '../../listen.ts';
import { createOf, randomOf, tables, taskOf, tools } from './kit.ts';

const directory = fileURLToPath(new URL('../../../src/proxy/shadow', import.meta.url));

/** With every change; `npm run prove` computes 100,000. */
const SHADOWS = Number(process.env.SHADOWS ?? 20_000);
/** Every so many of them a read is made on both sides. */
const READS_EVERY = 1_000;
const MINUTES_MS = 60_000;

/** Imports that shadows may use beside their neighbours; of runtime, exchanges and records only plain data. */
const allowed: Readonly<Record<string, readonly string[] | 'all'>> = {
  'node:crypto': ['createHash'],
  '../evidence/exchange.ts': ['isRefusalOfRequest', 'ShadowFinding', 'ShadowTask'],
  '../records/evidence.ts': ['CoverageCell', 'DifferenceSeen', 'OlderForm'],
  '../evidence/redact.ts': ['redactLosses', 'redactName'],
  '../sales/new-link.ts': ['derivedReference', 'fitsUpstream'],
  '../vault.ts': ['Secret'],
  // A type, of which a read-only client is made.
  '../upstream/upstream.ts': ['Upstream'],
};

describe('what shadows import', () => {
  const files = readdirSync(directory).filter((file) => file.endsWith('.ts'));

  it.each(files)('%s', (file) => {
    const text = readFileSync(`${directory}/${file}`, 'utf8');
    const imports = [...text.matchAll(/^(?:import|export)\s[^;]*?\sfrom '([^']+)';/gms)];
    expect(text.match(/\bimport\s*\(|\brequire\s*\(|\bfetch\s*\(/)).toBeNull();
    for (const [statement, specifier = ''] of imports) {
      if (
        /^\.\/[\w-]+\.ts$/.test(specifier) ||
        /^\.\.\/\.\.\/(?:contract|mapping)\/|^\.\.\/\.\.\/error\.ts$/.test(specifier)
      )
        continue;
      const names = [...(/\{([^}]*)\}/s.exec(statement)?.[1] ?? '').matchAll(/(?:type\s+)?(\w+)/g)]
        .map((match) => match[1] ?? '')
        .filter((name) => name !== 'type');
      const fine = allowed[specifier];
      expect(fine, `${file} imports ${specifier}`).toBeDefined();
      expect(
        names.filter((name) => fine !== 'all' && !fine?.includes(name)),
        `${file} from ${specifier}`,
      ).toEqual([]);
    }
  });
});

describe('the type of a read', () => {
  const call: ReadCall = {
    name: 'terminals_list',
    path: '/terminals/v1/list',
    query: {},
    token: new Secret('t'),
    timeout_ms: 1,
  };

  it('has no place for a write', () => {
    // @ts-expect-error a create is no read
    const create: ReadCall = { ...call, name: 'create' };
    // @ts-expect-error a read has no method of its own
    const post: ReadCall = { ...call, method: 'POST' };
    // @ts-expect-error a read has no body
    const body: ReadCall = { ...call, body: new Uint8Array() };
    // @ts-expect-error a read has no idempotency key
    const key: ReadCall = { ...call, idempotency_key: 'k' };
    // @ts-expect-error a shadow can't read at all
    const reading = (one: ShadowTools) => one.orders;
    // @ts-expect-error a double read can't send
    const sending = (one: DoubleReadTools) => one.orders.send;
    // @ts-expect-error the store is not handed in
    const storing = (one: DoubleReadTools) => one.store;
    expect([create, post, body, key, reading, sending, storing]).toHaveLength(7);
    expect(readNames).toEqual(['get', 'terminals_list', 'legacy_read']);
  });
});

describe('with an upstream that is a trap', () => {
  const writes: string[] = [];
  let reads = 0;
  const paging = { total: 1, limit: 50, offset: 0 };
  const shared = { id: 'PAX_A910__SMARTPOS0000000001', pos_id: 7, store_id: '1', external_pos_id: 'A' };
  const list = [{ ...shared, operating_mode: 'PDV' }];
  const server = createServer((incoming, response) => {
    if (incoming.method === 'GET') reads++;
    else writes.push(`${incoming.method} ${incoming.url}`);
    const isNew = incoming.url?.startsWith('/terminals/') === true;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isNew ? { data: { terminals: list }, paging } : { devices: list, paging }));
  });
  let upstream: UpstreamClient;

  beforeAll(async () => {
    const port = await listen(server);
    upstream = createUpstream({
      baseUrl: `http://127.0.0.1:${port}`,
      connections: 2,
      connectTimeout_ms: 2_000,
      userAgent: 'test',
    });
  });
  afterAll(async () => {
    await upstream.close();
    await shut(server);
  });

  it(
    `${SHADOWS} shadows write nothing`,
    async () => {
      const reading: DoubleReadTools = {
        ...tools,
        orders: readOnly(upstream),
        legacy: readOnly(upstream),
        settings: { timeout_ms: 10_000 },
      };
      // Legacy's total has changed since.
      const answered = { devices: list, paging: { ...paging, total: 2 } };
      const random = randomOf(4);
      const verdicts: Record<string, number> = {};
      const withoutAdvice = new Set<string>();
      for (let index = 0; index < SHADOWS; index++) {
        const finding = shadowOf(reading, taskOf(createOf(random)));
        verdicts[finding.verdict] = (verdicts[finding.verdict] ?? 0) + 1;
        for (const { table, path, why } of finding.losses) {
          if (tables.facts(table, path, why).advice === null) withoutAdvice.add(`${table} ${path}`);
        }
        if (index % READS_EVERY > 0) continue;
        const task = taskOf({ operation: 'point.list_devices', site: 'MLA', path: {} }, { body: answered });
        expect(isDoubleRead(reading, task)).toBe(true);
        expect((await doubleRead(reading, task)).cells.length).toBeGreaterThan(0);
      }
      expect(writes).toEqual([]);
      // One read on the orders side, and one control read, because the totals differ.
      expect(reads).toBe((2 * SHADOWS) / READS_EVERY);
      expect(Object.keys(verdicts).sort()).toEqual(['accepted', 'refused_here', 'refused_there']);
      expect(Math.min(...Object.values(verdicts))).toBeGreaterThan(SHADOWS / 20);
      expect([...withoutAdvice]).toEqual([]);
    },
    3 * MINUTES_MS,
  );
});
