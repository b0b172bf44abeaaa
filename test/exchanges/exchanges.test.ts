/** The golden exchanges: each by the engine alone, then through the whole app; and what all of them together cover. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Family } from '../../src/contract/legacy-errors.ts';
import { upstreamErrorCodes } from '../../src/contract/upstream.ts';
import { rowIds } from '../../src/mapping/assemble.ts';
import { readError } from '../../src/mapping/errors.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { type Bridge, startBridge } from './bridge.ts';
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

// One app for each operation: the retry budget is the process's, and one operation's failures would eat up the next one's.
for (const [operation, own] of Map.groupBy(exchanges, (one) => one.operation)) {
  describe(`the whole app, ${operation}`, () => {
    let bridge: Bridge;
    beforeAll(async () => {
      bridge = await startBridge(tables);
    });
    afterAll(() => bridge?.close());

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
    // What orders can't do is refused whatever is asked, such as a refund on the terminal (LIM-03).
    const refuses = operation.upstream === null && operation.answer === null;
    const success = refuses || own.some((one) => one.legacy_answer.status < 300);
    const refusal = own.some((one) => one.legacy_answer.status >= 400 && one.upstream.every(isCarried));
    expect({ success, refusal }).toEqual({ success: true, refusal: true });
    if (operation.upstream === null) return;
    const met = own.flatMap((one) => one.upstream.map(({ answer }) => errorOf(answer)));
    const missing = upstreamErrorCodes[operation.upstream].filter(
      ([status, code]) => !met.includes(`${status} ${code}`),
    );
    expect(missing).toEqual([]);
  });

  it('every row of every table about intents, by the engine', () => {
    const seen = new Set([...fired.values()].flatMap((one) => [...one.seen, ...one.unseen]));
    expect(rowsOf('point').filter((id) => !seen.has(id))).toEqual([]);
  });

  it('every row by the whole app, but for errors that a story answers in its own way, which the files name', () => {
    const seen = new Set([...played.values()].flatMap((rows) => [...rows]));
    // A story may do the same as a row without asking for it: the engine has compared the row with what the app did.
    const same = new Set([...played.keys()].flatMap((one) => fired.get(one)?.seen ?? []));
    const named = new Set([...fired.values()].flatMap((one) => one.unseen));
    expect(rowIds(tables).filter((id) => !seen.has(id) && !same.has(id) && !named.has(id))).toEqual([]);
  });
});

/** Rows of one family's tables. */
function rowsOf(family: Family): string[] {
  const { tables: fields, states, errors } = tables.documents;
  const names = [...fields, ...states, ...errors].filter((one) => one.family === family).map((one) => one.table);
  return rowIds(tables).filter((id) => names.includes(id.split('#')[0] ?? ''));
}

function isCarried(step: Exchange['upstream'][number]): boolean {
  return step.to === 'legacy';
}

function errorOf(answer: Exchange['legacy_answer'] | undefined): string {
  return answer === undefined || answer.status < 300 ? '' : `${answer.status} ${readError(answer.body).code}`;
}
