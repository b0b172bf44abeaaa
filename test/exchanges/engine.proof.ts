/** The golden exchanges by the engine alone, for the proofs of the mapping engine. */
import { join } from 'node:path';
import { it } from 'vitest';
import { loadTables } from '../../src/mapping/load.ts';
import { runEngine } from './engine.ts';
import { exchangeFiles, isExchangeFile, readExchanges } from './kit.ts';

const tables = loadTables(join(import.meta.dirname, '..', '..', 'mappings'));

for (const file of exchangeFiles().filter(isExchangeFile)) {
  it(file, () => {
    for (const exchange of readExchanges(file)) runEngine(tables, exchange);
  });
}
