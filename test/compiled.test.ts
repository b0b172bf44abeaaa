/** What Node has compiled is kept as soon as the server is ready: a kill takes none of it away. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { type Child, killChildren, SOURCES, startChild } from './crash/child.ts';

const directory = mkdtempSync(join(tmpdir(), 'puente-compiled-'));
const compiled = join(directory, 'compiled');
/** The program that strips types takes 27 MB in the main thread and some 15 in the writer's; it is loaded where one file has to be stripped. */
const LEAST_SAVED_MB = 20;

afterAll(async () => {
  await killChildren();
  rmSync(directory, { recursive: true, force: true });
});

it.skipIf(!existsSync('/proc/self/status'))(
  'starts smaller after a start that was killed',
  async () => {
    const first = await start('first');
    const first_mb = residentMb(first);
    await first.kill();
    const second = await start('second');
    expect(first_mb - residentMb(second)).toBeGreaterThan(LEAST_SAVED_MB);
    await second.stop();
  },
  120_000,
);

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
