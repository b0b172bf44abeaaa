/** How the tests run: real sockets, worker threads and native SQLite, on a machine with two cores. */
import { defineConfig } from 'vitest/config';
import SummaryReporter from './test/reporter.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    environment: 'node',
    // A process for each file: native modules and worker threads of one file can't disturb another's.
    pool: 'forks',
    // More than cores, because many files mostly wait: for sockets, disks and children.
    maxWorkers: 3,
    // Tests wait for real processes and sockets; the limits only end what hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    reporters: ['default', new SummaryReporter()],
  },
});
