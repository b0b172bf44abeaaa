#!/usr/bin/env node
/** The command `puente`. In a clone Node runs the TypeScript of `src/`; a package has `dist/` instead. */
import { existsSync } from 'node:fs';

const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  process.stderr.write(
    `Puente needs Node 24 or newer, and this is ${process.versions.node}. In a clone "npm ci" brings one for "npx puente"; beside a package "npm install node@24" does.\n`,
  );
  process.exit(1);
}
const source = new URL('../src/cli.ts', import.meta.url);
await import((existsSync(source) ? source : new URL('../dist/cli.js', import.meta.url)).href);
