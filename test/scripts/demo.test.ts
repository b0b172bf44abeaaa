/** `npm run demo` as a person runs it; `journeys/migration` checks its story. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scenes } from '../../scripts/demo/scenes.ts';
import type { Ran } from '../run-cli.ts';
import { DEMO_LIMIT_MS, runDemo } from '../run-demo.ts';

let directory: string;
let ran: Ran;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'puente-demo-test-'));
  ran = await runDemo(directory);
}, DEMO_LIMIT_MS);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('npm run demo', () => {
  test('tells each scene in plain lines, and ends with the path of the report', () => {
    expect([ran.err, ran.code], ran.out).toEqual(['', 0]);
    for (const { title } of scenes) expect(ran.out).toContain(`. ${title}`);
    expect(ran.out).not.toMatch(/✗/);
    expect(ran.out).toMatch(/✓ AR: (\d+) sales at the tills, the same \1 at the vendor, each once\n/);
    expect(ran.out).not.toContain('\u001b[');
    expect(ran.out).toContain('Everything held.');
    expect(readFileSync(told(), 'utf8')).toContain('<html');
  });

  test('leaves nothing behind but the reports', () => {
    expect(readdirSync(directory).map((name) => join(directory, name))).toEqual([dirname(told())]);
  });
});

function told(): string {
  return /The report: (.+)\n$/.exec(ran.out)?.[1] ?? '';
}
