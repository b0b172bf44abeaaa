/** Preloaded by a process that runs the product with a seeded bug: patches sources as they are loaded. */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bugOfProcess, patched } from './bug.ts';

const bug = bugOfProcess();

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.startsWith('file:') || loaded.source === undefined || loaded.source === null) return loaded;
    const path = fileURLToPath(url).replaceAll('\\', '/');
    const edits = bug.edits.filter(({ file }) => path.endsWith(`/src/${file}`));
    if (edits.length === 0) return loaded;
    return { ...loaded, source: patched(Buffer.from(loaded.source as Uint8Array).toString('utf8'), edits) };
  },
});
