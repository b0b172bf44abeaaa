/** `npm run demo` from end to end, as a person and as a script run it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const DEMO = join(import.meta.dirname, '..', 'scripts', 'demo.ts');
const LIMIT_MS = 60_000;

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'puente-demo-test-'));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** With a temporary directory of its own, so that what it leaves behind is seen. */
function runDemo(...options: string[]) {
  const env = { ...process.env, TMPDIR: directory, NO_COLOR: '' };
  return spawnSync(process.execPath, [DEMO, ...options], { encoding: 'utf8', env, cwd: directory, timeout: LIMIT_MS });
}

interface Told {
  holds: boolean;
  entries: { kind: string; text: string; holds?: boolean; data?: unknown }[];
}

describe('npm run demo', () => {
  test(
    'tells every scene, everything holds, and nothing is left behind',
    () => {
      const { status, stdout, stderr } = runDemo('--json');
      expect(stderr).toBe('');
      const told = JSON.parse(stdout) as Told; // printed by the demo
      expect(told.entries.filter(({ holds }) => holds === false)).toEqual([]);
      expect(told.holds).toBe(true);
      expect(status).toBe(0);
      expect(told.entries.filter(({ kind }) => kind === 'scene').map(({ text }) => text)).toEqual(
        expect.arrayContaining([expect.stringMatching(/declined/), expect.stringMatching(/busy/)]),
      );
      expect(told.entries.at(-1)).toMatchObject({ data: { found: { payments: 5, notices: 5, orders: 5 } } });
      expect(readdirSync(directory)).toEqual([]);
    },
    LIMIT_MS,
  );

  test(
    'prints plain lines when nobody looks at a terminal',
    () => {
      const { status, stdout } = runDemo();
      expect(status).toBe(0);
      expect(stdout).toMatch(/✓ 5 payments at the till, 5 notices, 5 orders underneath: all equal\n$/);
      expect(stdout).not.toContain('\u001b[');
    },
    LIMIT_MS,
  );
});
