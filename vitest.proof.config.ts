/** The tests of the proof list alone, with every branch of its modules counted (`npm run coverage`). */
import { defineConfig } from 'vitest/config';
import { globsOf, groups } from './test/proof/modules.ts';

export default defineConfig({
  test: {
    ...globsOf(groups.flatMap(({ tests }) => tests)),
    environment: 'node',
    setupFiles: ['test/property-seed.ts'],
    // None of these files changes anything that another one sees, and a worker of its own for each costs more than they do.
    isolate: false,
    pool: 'threads',
    maxWorkers: 2,
    testTimeout: 60_000,
    expect: { poll: { timeout: 55_000 } },
    coverage: {
      provider: 'v8',
      ...globsOf(groups.flatMap(({ files }) => files)),
      reporter: ['text', 'json'],
      thresholds: { perFile: true, branches: 100 },
    },
  },
});
