/** Writes the generated pages; with `--check` writes nothing and fails when one is out of date. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { renderSettings } from '../src/config/describe.ts';
import { loadTables } from '../src/mapping/load.ts';
import { renderLimitations, renderReadme } from '../src/mapping/render.ts';
import { opsRoutes } from '../src/ops/api/api.ts';
import { renderOperations, renderRows } from '../src/ops/api/openapi.ts';
import { renderCliPage, renderManPage } from '../src/ops/cli/pages.ts';
import { readFaultLedger } from './fault-rows.ts';

const house = new URL('../', import.meta.url);

const tables = loadTables(fileURLToPath(new URL('mappings', house)));
const faults = readFaultLedger(fileURLToPath(house));
for (const problem of faults.problems) {
  console.error(`test/faults: ${problem}`);
  process.exitCode = 1;
}

const pages: { file: string; render: () => string | Promise<string> }[] = [
  { file: 'src/ops/api/rows.json', render: () => renderRows(opsRoutes) }, // first: the pages of commands are made from it
  { file: 'config/README.md', render: renderSettings },
  { file: 'docs/cli.md', render: async () => renderCliPage(await describedProgram()) },
  { file: 'docs/puente.1', render: async () => renderManPage(await describedProgram()) },
  { file: 'src/ops/api/README.md', render: () => renderOperations(opsRoutes) },
  { file: 'test/faults/README.md', render: () => faults.page },
  { file: 'mappings/README.md', render: () => renderReadme(tables) },
  { file: 'docs/limitations.md', render: () => renderLimitations(tables) },
];

const isCheck = process.argv.includes('--check');
for (const { file, render } of pages) {
  const text = await render();
  if (isCheck && written(file) !== text) {
    console.error(`${file} is out of date; run \`npm run generate\` and commit it.`);
    process.exitCode = 1;
  }
  if (!isCheck) writeFileSync(new URL(file, house), text);
}

async function describedProgram(): Promise<Command> {
  const { programHere } = await import('../test/program.ts');
  return programHere();
}

function written(file: string): string | null {
  try {
    return readFileSync(new URL(file, house), 'utf8');
  } catch {
    return null; // a missing file is out of date, too
  }
}
