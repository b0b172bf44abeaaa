/** Double reads: lists are compared in any order, noise is ignored, errors are compared like answers. */
import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { redactValue } from '../../../src/proxy/evidence/redact.ts';
import { type DoubleReadTools, doubleRead, isDoubleRead, readOnly } from '../../../src/proxy/shadow/double-read.ts';
import { createUpstream, type UpstreamClient } from '../../../src/proxy/upstream/client.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { call, tokenOf } from '../../kit.ts';
import { listen, shut } from '../../listen.ts';
import { openForAll } from '../../open.ts';
import { openKit } from '../../sandbox/kit.ts';
import { tables, taskOf, tools } from './kit.ts';

const LIST = '/point/integration-api/devices';

interface Answer {
  status: number;
  body: unknown;
}

const device = (id: string, change: object = {}) => ({
  id,
  pos_id: 7,
  store_id: '11',
  external_pos_id: 'CAJA1',
  operating_mode: 'PDV',
  ...change,
});
const legacyList = (...devices: object[]): Answer => ({
  status: 200,
  body: { devices, paging: { total: devices.length, limit: 50, offset: 0 } },
});
const ordersList = (...terminals: object[]): Answer => ({
  status: 200,
  body: { data: { terminals }, paging: { total: terminals.length, limit: 50, offset: 0 } },
});
const A = device('PAX_A910__A');
const B = device('NEWLAND_N950__B', { operating_mode: 'STANDALONE', store_id: '12', pos_id: 8 });

describe('the device list', () => {
  let orders: Answer | null;
  let control: Answer | null;
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    const answer = incoming.url?.startsWith('/terminals/') === true ? orders : control;
    if (answer === null) return response.destroy();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  });
  let upstream: UpstreamClient;
  let reading: DoubleReadTools;

  beforeAll(async () => {
    const port = await listen(server);
    const baseUrl = `http://127.0.0.1:${port}`;
    upstream = createUpstream({ baseUrl, connections: 2, connectTimeout_ms: 2_000, userAgent: 'test' });
    const client = readOnly(upstream);
    reading = { ...tools, redact: redactValue, orders: client, legacy: client, settings: { timeout_ms: 5_000 } };
  });
  afterAll(async () => {
    await upstream.close();
    await shut(server);
  });
  beforeEach(() => {
    asked.length = 0;
    orders = null;
    control = null;
  });

  /** @param second legacy's answer to the control read. */
  async function compare(first: Answer, other: Answer | null, second: Answer | null = first, query = {}) {
    orders = other;
    control = second;
    const error = (first.body as { error?: string } | null)?.error ?? null;
    const task = taskOf(
      { operation: 'point.list_devices', site: 'MLA', path: {}, query },
      { status: first.status, error, body: first.body },
    );
    return doubleRead(reading, task);
  }
  const told = ({ differences }: Awaited<ReturnType<typeof compare>>) =>
    differences.map(({ what, path, legacy, orders: other }) => `${what} ${path}: ${legacy} / ${other}`);

  it('is equal in any order, and legacy is not asked again', async () => {
    const read = await compare(legacyList(A, B), ordersList(B, A), null, { limit: '20', offset: '0' });
    expect(told(read)).toEqual([]);
    expect(asked).toEqual(['GET /terminals/v1/list?limit=20&offset=0']);
    expect(read.cells).toContainEqual({
      operation: 'point.list_devices',
      field: 'answer.devices[].pos_id',
      outcome: 'equal',
      unknown: true,
    });
    expect(read.cells.map(({ field }) => field).sort()).toEqual([
      'answer.devices[].external_pos_id',
      'answer.devices[].id',
      'answer.devices[].operating_mode',
      'answer.devices[].pos_id',
      'answer.devices[].store_id',
      'answer.paging.limit',
      'answer.paging.offset',
      'answer.paging.total',
    ]);
  });

  it('differs in a field, which is told once for all devices', async () => {
    const read = await compare(legacyList(A, B), ordersList({ ...A, pos_id: 9 }, { ...B, pos_id: 10 }));
    expect(told(read)).toEqual(['value devices[].pos_id: 7 / 9']);
    expect(read.differences[0]?.signature).toMatch(/^[0-9a-f]{16}$/);
    expect(read.cells.filter(({ outcome }) => outcome === 'different').map(({ field }) => field)).toEqual([
      'answer.devices[].pos_id',
    ]);
    expect(asked).toEqual(['GET /terminals/v1/list?limit=50', `GET ${LIST}?`]);
    const other = await compare(legacyList(A), ordersList({ ...A, pos_id: 1 }));
    expect(other.differences[0]?.signature).toBe(read.differences[0]?.signature);
  });

  it('lacks a device, or has one more', async () => {
    expect(told(await compare(legacyList(A, B), ordersList(A)))).toEqual([
      expect.stringMatching(/^value devices\[\]: \{"id":"NEWLAND_N950__B".* \/ nothing$/),
      'value paging.total: 2 / 1',
    ]);
    const read = await compare(legacyList(A), ordersList(A, B));
    expect(told(read)[0]).toMatch(/^value devices\[\]: nothing \/ \{"id":"NEWLAND_N950__B"/);
  });

  it('lacks a field that legacy tells beside', async () => {
    const read = await compare(legacyList({ ...A, firmware: '1.2' }), ordersList(A));
    expect(told(read)).toEqual(['value devices[].firmware: "1.2" / nothing']);
  });

  it('shows nothing that must not be kept', async () => {
    const read = await compare(legacyList({ ...A, access_token: tokenOf('700100200') }), ordersList(A));
    expect(read.differences).toHaveLength(1);
    expect(JSON.stringify(read)).not.toContain('APP_USR');
  });

  it('that legacy itself answers otherwise the next time is noise', async () => {
    const read = await compare(legacyList(A), ordersList(A, B), legacyList(A, B));
    expect(told(read)).toEqual([]);
    expect(read.cells.map(({ field }) => field)).not.toContain('answer.paging.total');
    const mixed = await compare(legacyList(A), ordersList({ ...A, pos_id: 9 }, B), legacyList(A, B));
    expect(told(mixed)).toEqual(['value devices[].pos_id: 7 / 9']);
  });

  it('without a control is told of no difference, but of what is equal', async () => {
    const read = await compare(legacyList(A), ordersList({ ...A, pos_id: 9 }), null);
    expect(read.differences).toEqual([]);
    expect(read.cells.map(({ outcome }) => outcome)).not.toContain('different');
    expect(read.cells.length).toBeGreaterThan(4);
  });

  it('that could not be read on legacy is no evidence, and nothing is read', async () => {
    expect(await compare({ status: 200, body: null }, ordersList(A))).toEqual({ differences: [], cells: [] });
    expect(asked).toEqual([]);
  });

  describe('as an error', () => {
    const refused = (status: number, error: string): Answer => ({ status, body: { error, message: 'x', status } });
    const failed: Answer = { status: 500, body: { errors: [{ code: 'internal_error', message: 'x' }] } };

    it('is compared by its class and its legacy name', async () => {
      expect(told(await compare(refused(500, '500'), failed))).toEqual([]);
      expect(told(await compare(legacyList(A), failed))).toEqual(['error : 2xx / 5xx 500']);
      expect(told(await compare(refused(403, '403'), ordersList(A)))).toEqual(['error : 4xx 403 / 2xx']);
    });

    it('of legacy that is gone the next time is noise', async () => {
      expect(told(await compare(refused(500, '500'), ordersList(A), legacyList(A)))).toEqual([]);
    });

    it('of a table is one of the orders side', async () => {
      const read = await compare(legacyList(A), null, legacyList(A), { limit: 'all' });
      expect(told(read)).toEqual(['error : 2xx / 4xx 400']);
      expect(asked).toEqual([`GET ${LIST}?limit=all`]);
    });

    it.each([
      ['no answer', null],
      ['a token that is not accepted', { status: 401, body: { code: 'unauthorized' } }],
      ['too many requests', { status: 429, body: {} }],
      ['a success that nobody can read', { status: 200, body: { data: 7 } }],
    ])('%s is no evidence', async (_, answer) => {
      expect(await compare(legacyList(A), answer)).toEqual({ differences: [], cells: [] });
    });

    it('of legacy about the token or the rate is no evidence, and nothing is read', async () => {
      for (const status of [401, 429]) {
        expect(await compare(refused(status, String(status)), ordersList(A))).toEqual({ differences: [], cells: [] });
      }
      expect(asked).toEqual([]);
    });
  });
});

describe('the sandbox', () => {
  let upstream: UpstreamClient;
  const kit = openForAll(() => openKit());
  beforeAll(async () => {
    const baseUrl = kit.sandbox.url;
    upstream = createUpstream({ baseUrl, connections: 2, connectTimeout_ms: 2_000, userAgent: 'test' });
  });
  afterAll(async () => {
    await upstream.close();
  });

  it.each([{}, { limit: '2', offset: '1' }, { limit: '99' }, { store_id: '10001' }])(
    'tells the same devices on both sides: %j',
    async (query) => {
      const target = `${kit.sandbox.url}${LIST}?${new URLSearchParams(query)}`;
      const { status, body } = await call(target, { token: tokenOf('700100200') });
      const client = readOnly(upstream);
      const reading = { ...tools, orders: client, legacy: client, settings: { timeout_ms: 5_000 } };
      const create = {
        operation: 'point.list_devices',
        site: 'MLA',
        path: {},
        query: JSON.parse(JSON.stringify(query)),
      };
      const task = { ...taskOf(create, { status, body }), token: new Secret(tokenOf('700100200')) };
      const read = await doubleRead(reading, task);
      expect(read.differences).toEqual([]);
      expect(read.cells.length).toBeGreaterThan(7);
    },
  );
});

describe('what is read on both sides', () => {
  it('are device lists alone: of everything else only one side knows the id', () => {
    const names = tables.operations.filter((operation) => operation.double_read).map(({ name }) => name);
    expect(names).toEqual(['point.list_devices']);
    const task = taskOf({ operation: 'point.get_intent', site: 'MLA', path: {} });
    expect(isDoubleRead(tools, task)).toBe(false);
  });
});
