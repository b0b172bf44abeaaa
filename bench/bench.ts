/**
 * `npm run bench`: Puente against bare proxies and the direct way, with its goals; prints a table, writes a JSON file.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, hideProgram } from './machine.ts';
import { engineOf, type Options, program } from './options.ts';
import { killAll } from './processes.ts';
import { changesOf, readBaseline } from './result/compare.ts';
import { isProved, type Result } from './result/result.ts';
import { renderChanges, renderResult } from './result/tables.ts';
import { run } from './run.ts';
import { upstreamProgram } from './upstream/start.ts';

const WRONG = 1;
const WORSE = 3;

async function main(options: Options): Promise<void> {
  if (options.plain) for (const name of ['nginx', 'wrk']) hideProgram(name);
  mkdirSync(options.results, { recursive: true });
  const baseline = join(options.results, 'baseline.json');
  const load = findProgram('wrk') === null ? 'own' : 'wrk and own';
  const alike = { upstream: upstreamProgram(), load, engine: engineOf(options) } as const;
  // Read first, so that an hour of measuring does not end in a missing file.
  const before = options.compare ? readBaseline(baseline, alike) : null;
  const directory = mkdtempSync(join(options.results, 'run-'));
  const clean = (): void => {
    killAll();
    rmSync(directory, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      clean();
      process.exit(WRONG);
    });
  }
  try {
    const result = await run(options, directory, (text) => void process.stderr.write(`${text}\n`));
    const file = write(result, options, baseline);
    const changes = before === null ? null : changesOf(before, result);
    const told = [renderResult(result), ...(changes === null ? [] : [renderChanges(changes)]), `Written to ${file}`];
    process.stdout.write(`${told.join('\n\n')}\n`);
    if (!isProved(result)) process.exitCode = WRONG;
    else if (changes?.some(({ verdict }) => verdict === 'worse')) process.exitCode = WORSE;
  } finally {
    clean();
  }
}

/** Writes the result. @returns its file. */
function write(result: Result, options: Options, baseline: string): string {
  const file = join(options.results, `${result.started_at.replaceAll(':', '-')}.json`);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  if (options.json !== null) copyFileSync(file, options.json);
  if (options.saveBaseline) copyFileSync(file, baseline);
  return file;
}

try {
  await program(main).parseAsync();
} catch (error) {
  process.stderr.write(`The benchmark ended: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = WRONG;
}
