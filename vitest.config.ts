/** How the tests run: real sockets, worker threads and native SQLite, on a machine with two cores. */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import SummaryReporter from './test/reporter.ts';
import { LongestFirst } from './test/sequencer.ts';

/** `npm run test:night`: what `npm test` leaves, whole, and more of what runs twice. CI has a quarter of an hour. */
const NIGHT = process.env.NIGHT === '1';
/** What tills, shops and operators live through, by each kind of it, and kill -9 meanwhile. */
const onPostgres = [
  NIGHT ? 'test/journeys/*.test.ts' : 'test/journeys/{sdk,reset}.test.ts',
  'test/proxy/http/named-by-tills.test.ts',
  'test/ops/moves/{routing,safety,seen,together}.test.ts',
  'test/crash/any-moment.test.ts',
  ...(NIGHT ? ['test/crash/{crash,qr-crash}.test.ts', 'test/ops/plan/plan.test.ts', 'test/ops/whose.test.ts'] : []),
];
/** `fidelity.test.ts` runs on both profiles of the sandbox by itself. */
const onField = [
  'test/journeys/{sdk,sdk-qr,reset}.test.ts',
  ...(NIGHT ? ['test/journeys/{odoo,qr-journeys,sdk-lost-answer,qr-fidelity}.test.ts'] : []),
];
/** Servers of their own that are killed, fail over and fall silent. */
const ownServers = 'test/crash/database.test.ts';
/** What takes longer than a developer waits: faults, kills and simulated days, and what the docs and our own tools do. */
const proof = [
  'test/{crash,simulation,faults}/**/*.test.ts',
  'test/docs/{blocks,commands,named}.test.ts',
  'test/scripts/{bench,screenshots,soak}.test.ts',
  // Each of these takes half a minute or more: waits for retries of SDKs and for a server that is away, every limitation in turn, many
  // processes, or a browser; of the browser's the developer's loop keeps each page's first view (`console/pages.test.ts`).
  'test/journeys/{fidelity,limitations,migration,odoo,qr-fidelity,qr-limitations}.test.ts',
  'test/store/postgres/{round-trips,together}.test.ts',
  'test/store/sqlite/upgrades.test.ts',
  'test/proxy/shadow/writes.test.ts',
  'test/ops/moves/ramp.test.ts',
  'test/ops/console/{board,refused}.test.ts',
  'test/ops/report/print.test.ts',
  'test/deploy/{balancer,tls}.test.ts',
];
/**
 * What CI leaves to the night: most pages of the console, kills of two builds and of QR by name, an away or shared PostgreSQL, captures,
 * and programs that no sale meets. `scripts/prove/suites.ts` runs each of them, too.
 */
export const nightly = [
  'test/crash/{qr-crash,second-day,upgrade}.test.ts',
  'test/faults/storage-directories.test.ts',
  'test/exchanges/explain.test.ts',
  'test/journeys/{assess,sdk-lost-answer}.test.ts',
  'test/store/postgres/{outage,plans,spans,transfer,transfer-rows,workers}.test.ts',
  'test/proxy/shadow/differential.test.ts',
  'test/proxy/telemetry/telemetry-load.test.ts',
  'test/ops/moves/moves-model.test.ts',
  'test/ops/console/{charts,commands,explain,languages,many,merchant,money,operations,ramps}.test.ts',
  'test/ops/report/languages.test.ts',
  'test/ops/capture/access-log.test.ts',
  'test/ops/cli/completion.test.ts',
  'test/sandbox/fidelity.test.ts',
  'test/scripts/pack.test.ts',
  'test/{app/{init,init-postgres,welcome},compiled}.test.ts',
];

// Compiled once for all processes and threads of a run, as in production (`npm start`): most of what a start costs.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/puente');

export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'usual', include: ['test/**/*.test.ts'], exclude: [...proof, ...nightly] } },
      {
        extends: true,
        test: {
          name: 'proof',
          include: NIGHT ? [...proof, ...nightly] : proof,
          exclude: [ownServers, ...(NIGHT ? [] : nightly)],
        },
      },
      // What tills live through once more, on what the field does differently from the specification.
      { extends: true, test: { name: 'field', include: onField, setupFiles: ['test/sandbox/on-field.ts'] } },
      // The same files once more, on a real server.
      {
        extends: true,
        test: {
          name: 'postgres',
          include: [...onPostgres, ...(NIGHT ? [ownServers] : [])],
          globalSetup: ['test/engines/postgres-server.ts'],
          setupFiles: ['test/engines/on-postgres.ts'],
        },
      },
    ],
    environment: 'node',
    setupFiles: ['test/property-seed.ts'],
    globalSetup: ['test/temporary-folder.ts'],
    // Processes, because of native modules and worker threads; each is kept for many files, which share what they import:
    // nothing here has state at its top but a count of proxied bytes, and to import it all anew for each file costs more
    // than most files do. Large bodies are watched as they are in production (`src/proxy/http/passthrough.ts`).
    pool: 'forks',
    execArgv: ['--expose-gc'],
    isolate: false,
    // Node takes the types out by itself, as it does for users of Puente.
    experimental: { viteModuleRunner: false },
    // Twice the cores, because many files mostly wait: for sockets, disks and children.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Tests wait for real processes and sockets; the limits only end what hangs.
    testTimeout: 60_000,
    expect: { poll: { timeout: 55_000 } },
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    reporters: ['default', new SummaryReporter()],
  },
});
