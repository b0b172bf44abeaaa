/** The golden exchanges: each by the engine alone, then through the whole app; and what they cover together. */
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Family } from '../../src/contract/legacy-errors.ts';
import { upstreamErrorCodes, upstreamRoutes } from '../../src/contract/upstream.ts';
import { rowIds } from '../../src/mapping/assemble.ts';
import { readError } from '../../src/mapping/errors.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { openForAll } from '../open.ts';
import { startBridge } from './bridge.ts';
import { type Fired, runEngine } from './engine.ts';
import { type Exchange, exchangeFiles, isExchangeFile, readExchanges } from './kit.ts';

const tables = loadTables(fileURLToPath(new URL('../../mappings', import.meta.url)));
const files = exchangeFiles();
const exchanges = files.filter(isExchangeFile).flatMap(readExchanges);
const fired = new Map<Exchange, Fired>();
const played = new Map<Exchange, Set<string>>();

describe('the files', () => {
  it('are all picked up', () => {
    expect(files.filter((file) => !isExchangeFile(file))).toEqual([]);
    expect(exchanges.length).toBeGreaterThan(files.length);
  });

  it('name operations that exist', () => {
    const known = tables.operations.map((one) => one.name);
    expect(exchanges.filter((one) => !known.includes(one.operation)).map((one) => one.title)).toEqual([]);
  });

  it('have titles of their own', () => {
    const titles = exchanges.map((one) => `${one.operation} ${one.what}`);
    expect(titles.filter((title, index) => titles.indexOf(title) < index)).toEqual([]);
  });
});

describe('the engine alone', () => {
  for (const exchange of exchanges) {
    it(exchange.title, () => {
      fired.set(exchange, runEngine(tables, exchange));
    });
  }
});

// One app for each operation, because the retry budget belongs to the process.
for (const [operation, own] of Map.groupBy(exchanges, (one) => one.operation)) {
  describe(`the whole app, ${operation}`, () => {
    const bridge = openForAll(() => startBridge(tables));

    for (const exchange of own) {
      it(exchange.title, async () => {
        played.set(exchange, await bridge.play(exchange));
      });
    }

    it('tells no merchant more than the files say', () => {
      expect(bridge.surplus()).toEqual([]);
    });
  });
}

describe('together they cover', () => {
  it.each(tables.operations)('$name: success, refusal, and every documented error', (operation) => {
    const own = exchanges.filter((one) => one.operation === operation.name);
    // Operations that orders do not support are always refused, such as a refund on the terminal (LIM-03).
    const refuses = operation.upstream === null && operation.answer === null;
    const success = refuses || own.some((one) => one.legacy_answer.status < 300);
    const refusal = own.some((one) => one.legacy_answer.status >= 400 && one.upstream.every(changesNothing));
    expect({ success, refusal }).toEqual({ success: true, refusal: true });
    if (operation.upstream === null) return;
    const met = own.flatMap((one) => one.upstream.map(({ answer }) => errorOf(answer)));
    const missing = upstreamErrorCodes[operation.upstream].filter(
      ([status, code]) => !met.includes(`${status} ${code}`),
    );
    expect(missing).toEqual([]);
  });

  // Stories build payments, merchant orders, the events list, and the outcome of a QR sale from several sources.
  it.each([
    ['point', rowsOf('point', ['fields', 'states', 'errors']).filter((id) => !id.startsWith('point.events.answer#'))],
    ['qr_v1', rowsOf('qr_v1', ['fields', 'errors'])],
    ['qr', rowsOf('qr', ['fields', 'errors'])],
  ])('every row that the engine runs of the family %s', (_family, rows) => {
    const seen = new Set([...fired.values()].flatMap((one) => [...one.seen, ...one.unseen]));
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter((id) => !seen.has(id))).toEqual([]);
  });

  it.each(tables.operations)('$name: asks nothing that its row does not name', (operation) => {
    const own = exchanges.filter((one) => one.operation === operation.name);
    const asked = new Set(
      own.flatMap((one) => one.upstream.filter((step) => !isProxiedAsItCame(one, step)).map(routeOf)),
    );
    const { upstream, asks } = operation;
    const made = upstream === null ? [] : [`${upstreamRoutes[upstream].method} ${upstreamRoutes[upstream].path}`];
    const named = [...made, ...asks].map(withoutNames);
    expect([...asked].filter((route) => !named.includes(route))).toEqual([]);
  });

  it('every call that a row names', () => {
    const asked = new Set(exchanges.flatMap((one) => one.upstream.map(routeOf)));
    const named = new Set(tables.operations.flatMap((one) => one.asks.map(withoutNames)));
    expect([...named].filter((route) => !asked.has(route))).toEqual([]);
  });

  it('every row by the whole app, but for errors that a story answers in its own way, which the files name', () => {
    const seen = new Set([...played.values()].flatMap((rows) => [...rows]));
    // A story may do the same as a row without the table: the engine has compared both.
    const same = new Set([...played.keys()].flatMap((one) => fired.get(one)?.seen ?? []));
    const named = new Set([...fired.values()].flatMap((one) => one.unseen));
    expect(rowIds(tables).filter((id) => !seen.has(id) && !same.has(id) && !named.has(id))).toEqual([]);
  });
});

function rowsOf(family: Family, kinds: readonly ('fields' | 'states' | 'errors')[]): string[] {
  const { tables: fields, states, errors } = tables.documents;
  const all = { fields, states, errors };
  const own = kinds.flatMap((kind) => all[kind].filter((one) => one.family === family).map((one) => one.table));
  return rowIds(tables).filter((id) => own.includes(id.split('#')[0] ?? ''));
}

/** A search of Puente's own is not a proxied call, even where its path is the same. */
function isProxiedAsItCame(one: Exchange, step: Exchange['upstream'][number]): boolean {
  return isProxied(step) && !one.operation.endsWith('.search') && step.request.path === one.legacy_request.path;
}

function routeOf({ to, request }: Exchange['upstream'][number]): string {
  const path = request.path.replaceAll(/\/(?:\d{6,}|<[a-z ]+>)/g, '/:');
  return `${to === 'legacy' ? 'legacy ' : ''}${request.method} ${path}`;
}

function withoutNames(route: string): string {
  return route.replaceAll(/:\w+/g, ':');
}

function changesNothing(step: Exchange['upstream'][number]): boolean {
  return isProxied(step) || step.request.method === 'GET';
}

function isProxied(step: Exchange['upstream'][number]): boolean {
  return step.to === 'legacy';
}

function errorOf(answer: Exchange['legacy_answer'] | undefined): string {
  return answer === undefined || answer.status < 300 ? '' : `${answer.status} ${readError(answer.body).code}`;
}
