#!/usr/bin/env node
/** The command `puente`. In a clone Node runs the TypeScript of `src/`; a package has `dist/` instead. */
import { existsSync, statSync } from 'node:fs';
// Not by name: an older Node, which is told its version below, has no such export.
import module from 'node:module';
import { join, sep } from 'node:path';

const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  process.stderr.write(
    `Puente needs Node 24 or newer, and this is ${process.versions.node}. In a clone "npm ci" brings one for "npx puente"; beside a package "npm install node@24" does.\n`,
  );
  process.exit(1);
}

// With the compile cache of the last command, a command starts in half the time. This file is no TypeScript, because what strips
// types costs more to load than all of a command. Without write permission it works uncached. Only the owner of the installation
// writes the cache: files of root would block that user.
const is_installed = import.meta.dirname.split(sep).includes('node_modules');
const modules = join(import.meta.dirname, is_installed ? '../..' : '../node_modules');
if (statSync(modules, { throwIfNoEntry: false })?.uid === process.getuid?.()) {
  const kept = join(modules, '.cache', 'puente');
  module.enableCompileCache(kept);
  // For the threads and processes that `serve` starts.
  process.env.NODE_COMPILE_CACHE ??= kept;
}

const source = new URL('../src/cli.ts', import.meta.url);
await import((existsSync(source) ? source : new URL('../dist/cli.js', import.meta.url)).href);
