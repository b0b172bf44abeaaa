/** Mutates the modules of the proof list, one small change at a time, and counts unnoticed mutants (Stryker). */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import Table from 'cli-table3';
import { type Group, globsOf, groups } from '../test/proof/modules.ts';
import { setup } from '../test/temporary-folder.ts';

/** Percent of a group's mutants that tests must notice. */
const LEAST_SCORE = 85;
/** One per core; more workers only wait for one another. */
const WORKERS = 2;
/** Only ends a mutant that hangs: reloading modules on a busy machine is slow as well. */
const PATIENCE_MS = 30_000;

interface Sums {
  group: string;
  killed: number;
  timeout: number;
  survived: number;
  no_coverage: number;
  /** Mutants of module-level values, in a group where reloading modules for each would take hours. */
  ignored: number;
}

const { values } = parseArgs({
  options: {
    group: { type: 'string', multiple: true },
    files: { type: 'string', multiple: true },
    survivors: { type: 'boolean', default: false },
  },
});

const wanted = values.group ?? groups.map(({ name }) => name);
const unknown = wanted.filter((name) => !groups.some((group) => group.name === name));
if (unknown.length > 0) {
  process.stderr.write(
    `There is no group ${unknown.join(', ')}; there are ${groups.map(({ name }) => name).join(', ')}.\n`,
  );
  process.exit(2);
}
const known = groups.filter(({ name }) => wanted.includes(name)).flatMap(filesOf);
const strange = (values.files ?? []).filter((file) => !known.includes(file));
if (strange.length > 0) {
  process.stderr.write(`In ${wanted.join(', ')} there is no ${strange.join(', ')}; say --files once for each file.\n`);
  process.exit(2);
}
const rows: Sums[] = [];
const removeTemporary = setup();
for (const group of groups) if (wanted.includes(group.name)) rows.push(...(await mutate(group)));
removeTemporary?.();
process.stdout.write(`${table(rows)}\n`);
if (rows.some((row) => scoreOf(row) < LEAST_SCORE)) process.exitCode = 1;

/** @returns an empty list for a group without any of the requested files. */
async function mutate(group: Group): Promise<Sums[]> {
  const files = filesOf(group).filter((file) => values.files === undefined || values.files.some((one) => file === one));
  if (files.length === 0) return [];
  // The runner's processes inherit it and load only this group's tests.
  process.env.PUENTE_PROOF_GROUP = group.name;
  const results = await new Stryker({
    mutate: files,
    testRunner: 'in-process',
    plugins: [join(import.meta.dirname, '..', 'test', 'proof', 'mutants', 'runner.ts')],
    coverageAnalysis: 'perTest',
    concurrency: WORKERS,
    timeoutMS: PATIENCE_MS,
    // Types are erased, not checked: a test must notice a mutant even if the compiler would refuse it.
    disableTypeChecks: false,
    tsconfigFile: 'none.json',
    reporters: ['progress-append-only', ...(values.survivors ? ['clear-text'] : [])],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: false },
    allowConsoleColors: false,
    tempDirName: '.mutants',
    ignorePatterns: ['**', '!src/**', '!test/**', '!mappings/**', '!config/**', '!package.json'],
    ignoreStatic: group.tables === true,
  }).runMutationTest();
  const count = (status: string): number => results.filter((one) => one.status === status).length;
  return [
    {
      group: group.name,
      killed: count('Killed'),
      timeout: count('Timeout'),
      survived: count('Survived'),
      no_coverage: count('NoCoverage'),
      ignored: count('Ignored'),
    },
  ];
}

function filesOf({ files }: Group): string[] {
  const { include, exclude } = globsOf(files);
  return globSync(include, { exclude }).toSorted();
}

/** Percent of mutants noticed; a mutant that no test reaches counts as unnoticed. */
function scoreOf({ killed, timeout, survived, no_coverage }: Sums): number {
  return (100 * (killed + timeout)) / Math.max(1, killed + timeout + survived + no_coverage);
}

function table(sums: readonly Sums[]): string {
  const head = ['group', 'score %', 'killed', 'timeout', 'survived', 'no coverage', 'ignored'];
  const lines = new Table({ head, style: { head: [], border: [] } });
  for (const row of sums) {
    lines.push([
      row.group,
      scoreOf(row).toFixed(1),
      row.killed,
      row.timeout,
      row.survived,
      row.no_coverage,
      row.ignored,
    ]);
  }
  const once = sums.filter(({ ignored }) => ignored > 0).map(({ group }) => group);
  if (once.length > 0) lines.push([{ colSpan: head.length, content: meaningOfIgnored(once.join(', ')) }]);
  return lines.toString();
}

function meaningOfIgnored(where: string): string {
  return [
    'ignored, and not in the score: changes of what is made once as a module is loaded (constants, patterns,',
    `schemas) and runs in no test by itself. In ${where} loading proves and compiles every table; doing that`,
    'again for each such change would take hours.',
  ].join('\n');
}
