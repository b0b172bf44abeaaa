/** Runs one file of tests on sources with a seeded bug; ends with 0 when a test failed, as it must. */
import { startVitest } from 'vitest/node';
import { bugNamed, patched } from './list.ts';

/** Nothing failed: the bug was not seen. */
const NOT_CAUGHT = 3;

const bug = bugNamed(process.env.PUENTE_SEEDED_BUG ?? '');
if (bug.test === null) throw new Error(`${bug.name} is caught by the simulation, not by a test`);

const vitest = await startVitest(
  'test',
  [bug.test.file],
  {
    config: false,
    watch: false,
    reporters: [],
    testNamePattern: bug.test.name,
    include: [bug.test.file],
    pool: 'forks',
    maxWorkers: 1,
  },
  {
    plugins: [
      {
        name: 'seeded-bug',
        enforce: 'pre',
        transform(code: string, id: string) {
          const edits = bug.edits.filter(({ file }) => id.split('?')[0]?.endsWith(`/src/${file}`));
          return edits.length === 0 ? null : patched(code, edits);
        },
      },
    ],
  },
);
const failed = vitest.state.getCountOfFailedTests();
await vitest.close();
process.exit(failed > 0 ? 0 : NOT_CAUGHT);
