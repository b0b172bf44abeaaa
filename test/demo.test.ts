/** `npm run demo` from end to end as a process, as a person and as a script run it; what it tells is checked in `journeys/migration`. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const DEMO = join(import.meta.dirname, '..', 'scripts', 'demo.ts');
/** Only ends what hangs: two at once take less than a minute on two cores. */
const LIMIT_MS = 300_000;

interface Ran {
  code: number;
  out: string;
  err: string;
}

let directory: string;
let for_people: Ran;
let for_scripts: Ran;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'puente-demo-test-'));
  [for_people, for_scripts] = await Promise.all([runDemo('--output', join(directory, 'reports')), runDemo('--json')]);
}, LIMIT_MS);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** With a temporary directory of its own, so that what it leaves behind is seen. */
function runDemo(...options: string[]): Promise<Ran> {
  const env = { ...process.env, TMPDIR: directory, NO_COLOR: '' };
  return new Promise((resolve) => {
    const limits = { timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, [DEMO, ...options], { env, cwd: directory, ...limits }, (error, out, err) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, out, err });
    });
  });
}

describe('npm run demo', () => {
  test('tells it to people in plain lines, and ends with the path of the report', () => {
    expect(for_people.err).toBe('');
    expect(for_people.out).not.toMatch(/✗/);
    expect(for_people.out).toContain('Everything held.');
    expect(for_people.out).toMatch(/✓ AR: (\d+) sales at the tills, the same \1 at the vendor, each once\n/);
    expect(for_people.out).not.toContain('\u001b[');
    const path = /The report: (.+)\n$/.exec(for_people.out)?.[1] ?? '';
    expect(dirname(path)).toBe(join(directory, 'reports'));
    expect(readFileSync(path, 'utf8')).toContain('<html');
    expect(for_people.code).toBe(0);
  });

  test('tells it to scripts as JSON', () => {
    const told = JSON.parse(for_scripts.out) as Told; // printed by the demo
    expect(told.entries.filter(({ holds }) => holds === false)).toEqual([]);
    expect([told.holds, for_scripts.code, for_scripts.err]).toEqual([true, 0, '']);
    expect(told.entries.filter(({ kind }) => kind === 'scene').length).toBeGreaterThan(15);
    expect(readFileSync(told.report, 'utf8')).toContain('<html');
  });

  test('leaves nothing behind but the reports', () => {
    const { report } = JSON.parse(for_scripts.out) as Told; // printed by the demo
    expect(
      readdirSync(directory)
        .map((name) => join(directory, name))
        .toSorted(),
    ).toEqual([join(directory, 'reports'), dirname(report)].toSorted());
  });
});

interface Told {
  holds: boolean;
  report: string;
  entries: { kind: string; holds?: boolean }[];
}
