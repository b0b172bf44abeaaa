/** The product's settings and tables of every run: the trials of one process share them, because reading them costs more than most plans. */
import { getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/config.ts';
import { loadTables } from '../../src/mapping/load.ts';

/** The product's settings, all default but for what the run is about. */
export const config = loadConfig({
  env: {
    PUENTE_LOG_LEVEL: 'silent',
    PUENTE_MOVES_GATE: 'advise',
    PUENTE_MOVES_MIN_SAMPLE: '1',
    PUENTE_DATA_DIR: '/nowhere',
  },
  cwd: join(import.meta.dirname, '..', '..'),
});
// Proved by an earlier process, where one shares its compile cache (`workers.ts`).
export const tables = loadTables(join(import.meta.dirname, '..', '..', 'mappings'), getCompileCacheDir() ?? null);
