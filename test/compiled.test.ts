/** Node's compile cache is written once the server is ready, so that a kill loses none of it, and by each command. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Child, killChildren, SOURCES, startChild } from './crash/child.ts';
import { makeInstallation } from './docs/reader.ts';

const directory = mkdtempSync(join(tmpdir(), 'puente-compiled-'));
const compiled = join(directory, 'compiled');
/** Stripping types takes 27 MB in the main thread and about 15 in the writer's; it loads once a file is not cached. */
const LEAST_SAVED_MB = 20;

/** The writer thread stores its few files first, the main thread all others a moment later. */
const LEAST_KEPT = 200;

afterAll(() => killChildren());

it.skipIf(!existsSync('/proc/self/status'))(
  'starts smaller after a start that was killed',
  async () => {
    const first = await start('first');
    // The last files are loaded and stored a moment after readiness.
    await untilKept();
    const first_mb = residentMb(first);
    await first.kill();
    const second = await start('second');
    await untilKept();
    expect(first_mb - residentMb(second)).toBeGreaterThan(LEAST_SAVED_MB);
    await second.stop();
  },
  120_000,
);

describe('a command', () => {
  const place = join(directory, 'installation');
  const cache = join(place, 'node_modules', '.cache');
  const version = () =>
    spawnSync(process.execPath, ['bin/puente.js', '--version'], { cwd: place, env: {}, encoding: 'utf8' });
  beforeAll(() => makeInstallation(place));

  it('goes on where nothing can be kept', () => {
    writeFileSync(cache, 'no folder');
    expect(version()).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+/), stderr: '' });
  });

  it('keeps what it has compiled for the next one', () => {
    rmSync(cache, { recursive: true, force: true });
    expect(version()).toMatchObject({ status: 0, stderr: '' });
    const kept = keptIn(cache);
    expect(kept.length).toBeGreaterThan(20);
    expect(version()).toMatchObject({ status: 0, stderr: '' });
    expect(keptIn(cache)).toEqual(kept);
  });
});

/** Waits until no file was added between two checks; at most half a minute. */
async function untilKept(): Promise<void> {
  let before = -1;
  for (let looks = 0; looks < 60; looks++) {
    const kept = existsSync(compiled) ? readdirSync(compiled, { recursive: true }).length : 0;
    if (kept >= LEAST_KEPT && kept === before) return;
    before = kept;
    await pause(500);
  }
}

function keptIn(folder: string): [string, number][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => [name, statSync(join(parentPath, name)).mtimeMs] as [string, number])
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}

async function start(name: string): Promise<Child> {
  const environment = {
    PUENTE_DATA_DIR: join(directory, name),
    PUENTE_PUBLIC_PORT: '0',
    PUENTE_OPS_PORT: '0',
    PUENTE_SANDBOX_PORT: '0',
  };
  const child = await startChild(environment, { ...SOURCES, compiled });
  if (child === null) throw new Error('the server was not ready in time');
  return child;
}

function residentMb({ pid }: Child): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
