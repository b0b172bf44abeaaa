/** The modules whose branches and mutants are nearly all covered by tests, and these tests. */
import { globSync } from 'node:fs';
import { join } from 'node:path';

const HOUSE = join(import.meta.dirname, '../..');

export interface Group {
  name: string;
  /** Why these modules, and where related ones are tested. */
  why: string;
  files: readonly string[];
  /** Globs of tests that start no server; only these run here. */
  tests: readonly string[];
  /** The tests load the tables at import, so mutants of constants are skipped: each would load them again. */
  tables?: true;
}

/** Globs in the form of both tools; `!` excludes. @throws Error for one of no file, as after a file was renamed. */
export function globsOf(globs: readonly string[]): { include: string[]; exclude: string[] } {
  const empty = globs.filter((glob) => globSync(glob.replace(/^!/, ''), { cwd: HOUSE }).length === 0);
  if (empty.length > 0) throw new Error(`no file matches ${empty.join(', ')} (test/proof/modules.ts)`);
  return {
    include: globs.filter((glob) => !glob.startsWith('!')),
    exclude: globs.filter((glob) => glob.startsWith('!')).map((glob) => glob.slice(1)),
  };
}

/** Read by `npm run coverage` and `npm run mutate`. */
export const groups: readonly Group[] = [
  {
    name: 'money',
    why: 'Every amount that is read, converted, compared or refunded goes through these, and the refund protocol goes from the row to the outcome here; the stories that read what a till asks for and tell it are shown by the golden exchanges, what a crash leaves by the crash rig.',
    files: [
      'src/mapping/values.ts',
      'src/contract/legacy-amount.ts',
      'src/contract/json.ts',
      'src/proxy/payments/made-refunds.ts',
      'src/proxy/payments/refund-decisions.ts',
      'src/proxy/payments/make-refund.ts',
    ],
    tests: [
      'test/mapping/values.test.ts',
      'test/contract/legacy-amount.test.ts',
      'test/proof/mapping-converters.test.ts',
      'test/proof/money*.test.ts',
    ],
  },
  {
    name: 'state',
    why: 'From what upstream says of an order to what a till sees and is told; the store that keeps it has its own suite.',
    files: ['src/proxy/sales/order-transition.ts', 'src/proxy/sales/link.ts', 'src/proxy/ids.ts'],
    tests: [
      'test/proxy/sales/advance.test.ts',
      'test/proxy/sales/advance-qr.test.ts',
      'test/proxy/sales/synthetic-ids.test.ts',
      'test/proxy/sales/small.test.ts',
      'test/proof/state*.test.ts',
      'test/proxy/sales/mismatch.test.ts',
      // What a link says of itself, and the sums of its refunds, are asked for in these stories.
      'test/proof/protocol-{change,event,clear,open}.test.ts',
      'test/proof/money-refund.test.ts',
    ],
  },
  {
    name: 'protocol',
    why: 'Which lane a call takes; the create protocol from the row to the committed outcome, and what recovery and events do with it; how a till is freed for its next sale. The stories of the families above it are shown by the golden exchanges, the proxied creates below the legacy lane by the simulation.',
    files: [
      'src/proxy/sales/create.ts',
      'src/proxy/sales/known-to-till.ts',
      'src/proxy/sales/new-link.ts',
      'src/proxy/sales/submit.ts',
      'src/proxy/sales/settle.ts',
      'src/proxy/sales/refresh.ts',
      'src/proxy/sales/recover.ts',
      'src/proxy/qr/cancel.ts',
      'src/proxy/sales/events.ts',
      'src/proxy/routing/lane.ts',
      'src/proxy/notices/retry-schedule.ts',
      'src/proxy/concurrency.ts',
      'src/proxy/routing/stage.ts',
    ],
    tests: [
      'test/proxy/sales/opening.test.ts',
      'test/proxy/sales/outcome.test.ts',
      'test/proxy/notices/retry-schedule.test.ts',
      'test/proxy/routing/stage.test.ts',
      'test/proxy/routing/brownout.test.ts',
      'test/proxy/routing/lane.test.ts',
      'test/proxy/concurrency.test.ts',
      'test/proxy/lru.test.ts',
      'test/proxy/passing.test.ts',
      'test/proxy/remembered.test.ts',
      'test/proxy/sales/small.test.ts',
      'test/proof/protocol*.test.ts',
      // Which orders are believed is decided where a sale settles.
      'test/proof/state-contradictions.test.ts',
    ],
  },
  {
    name: 'mapping',
    tables: true,
    why: 'The engine that proves, compiles and runs the tables. The tables are data, and the golden exchanges count their rows; the words that explain them to people are no engine, and neither are the declarations of context and contracts.',
    files: [
      'src/mapping/*.ts',
      'src/mapping/converters/*.ts',
      '!src/mapping/values.ts',
      '!src/mapping/{explain,explain-input,explain-upstream,explanation,render}.ts',
      '!src/mapping/{context,contracts,tables}.ts',
    ],
    tests: [
      'test/mapping/*.test.ts',
      '!test/mapping/{point,qr,qr-app}-property.test.ts',
      'test/proof/mapping*.test.ts',
      'test/exchanges/engine.proof.ts',
    ],
  },
  {
    name: 'guard',
    why: 'Which addresses a notice may go to, judged before and after the name is resolved; the sender around it follows no redirect, which its own test shows.',
    files: ['src/proxy/notices/guard.ts'],
    tests: ['test/proxy/notices/guard.test.ts', 'test/proxy/notices/notice.test.ts'],
  },
  {
    name: 'upstream',
    why: 'What one upstream call came to, and whether its bytes left; the client around them, with its pool and its timeouts, is shown by its own test over real sockets.',
    files: ['src/proxy/upstream/reception.ts'],
    tests: ['test/proof/upstream*.test.ts'],
  },
  {
    name: 'keys',
    why: 'Whose word counts, and what is readable at rest: the signature of a webhook, and the seals and fingerprints under the installation key. That every door asks them is shown by the tests of the doors and by the canary run.',
    files: ['src/proxy/http/signature.ts', 'src/proxy/vault.ts'],
    tests: [
      'test/proxy/http/signature.test.ts',
      'test/proxy/vault.test.ts',
      'test/proof/keys*.test.ts',
      'test/proof/redaction.test.ts',
    ],
  },
  {
    name: 'redaction',
    why: 'What keeps secrets out of prints, captures, log lines and stored texts; the canary run shows that every door goes through it.',
    files: ['src/proxy/evidence/redact.ts', 'src/proxy/evidence/redact-text.ts', 'src/proxy/telemetry/telemetry.ts'],
    tests: ['test/proxy/evidence/redact.test.ts', 'test/proxy/notices/notice.test.ts', 'test/proof/redaction*.test.ts'],
  },
];
