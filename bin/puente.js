#!/usr/bin/env node
/** The command `puente`. In a clone Node runs the TypeScript of `src/`; a package has `dist/` instead. */
import { existsSync } from 'node:fs';

const source = new URL('../src/cli.ts', import.meta.url);
await import((existsSync(source) ? source : new URL('../dist/cli.js', import.meta.url)).href);
