/**
 * One process that runs plans, each on sources with a seeded bug of its own. A bug's edited files, and those that import
 * them, are loaded once more for it; all others are shared, and loading them is most of what a process costs.
 */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Line } from '../seeds.ts';
import { type Bug, patched } from './bug.ts';

export interface Trial {
  file: string;
  bug: Bug;
}

const trials = JSON.parse(process.argv[2] ?? '') as Trial[]; // written by `runTrials`
const SEEDS = new URL('../seeds.ts', import.meta.url).href;
/** In the URL of a module that is loaded for one trial. */
const OWN = '?trial=';

/** Modules by the one that they import. */
const importers = new Map<string, Set<string>>();
let own: ReadonlySet<string> = new Set();

registerHooks({
  resolve(specifier, context, nextResolve) {
    const found = nextResolve(specifier, context);
    const [importer = '', trial] = (context.parentURL ?? '').split(OWN);
    importers.set(found.url, (importers.get(found.url) ?? new Set()).add(importer));
    return trial !== undefined && own.has(found.url) ? { ...found, url: found.url + OWN + trial } : found;
  },
  load(url, context, nextLoad) {
    const [plain = '', trial] = url.split(OWN);
    if (trial === undefined) return nextLoad(url, context);
    const loaded = nextLoad(url, context);
    const edits = trials[Number(trial)]?.bug.edits.filter(({ file }) => fileURLToPath(plain).endsWith(`/src/${file}`));
    const source = Buffer.from(loaded.source as Uint8Array).toString('utf8'); // of a module, never empty
    return { ...loaded, source: patched(source, edits ?? []) };
  },
});

/** The modules with an edit, and all that lead to them. */
function ownOf({ edits }: Bug): Set<string> {
  const reached = new Set([SEEDS, ...edits.map(({ file }) => new URL(`../../../src/${file}`, import.meta.url).href)]);
  for (const url of reached) for (const importer of importers.get(url) ?? []) reached.add(importer);
  return reached;
}

// A killed process of any trial leaves rejected promises, as in `forgiveTheDead`; each trial may have a class of its own.
process.on('unhandledRejection', (error) => {
  if (!(error instanceof Error && error.constructor.name === 'Killed')) throw error;
});
await import(SEEDS);
for (const [index, { file, bug }] of trials.entries()) {
  // The number of the trial instead of the seed, which two plans may share.
  const tell = (line: Line): void => {
    if ('seed' in line) process.stdout.write(`${JSON.stringify({ ...line, seed: index })}\n`);
  };
  tell({ kind: 'begun', seed: index });
  own = ownOf(bug);
  const { runPlans } = (await import(SEEDS + OWN + index)) as typeof import('../seeds.ts');
  await runPlans([file], tell);
}
