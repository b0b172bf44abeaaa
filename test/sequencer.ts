/** The order in which test files start. */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of half a minute or more start first; started last, one would run alone while the other workers are idle. */
const LONG = [
  'simulation/simulation.test.ts',
  'ops/moves/ramp.test.ts',
  'journeys/migration.test.ts',
  'journeys/qr-fidelity.test.ts',
  'crash/any-moment.test.ts',
  'crash/crash.test.ts',
  'scripts/bench.test.ts',
  'simulation/bugs.test.ts',
  'docs/commands.test.ts',
  'ops/console/pages.test.ts',
  'ops/console/merchant.test.ts',
  'ops/console/charts.test.ts',
  'store/postgres/contract.test.ts',
  'exchanges/exchanges.test.ts',
  'journeys/qr-limitations.test.ts',
  'app/init.test.ts',
  'crash/syscalls.test.ts',
  'crash/qr-crash.test.ts',
  'crash/database.test.ts',
  'journeys/assess.test.ts',
];

export class LongestFirst extends BaseSequencer {
  /** @returns the long files in the order of the list, then the others in vitest's order. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = LONG.indexOf(relative(import.meta.dirname, moduleId));
      return rank === -1 ? LONG.length : rank;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}
