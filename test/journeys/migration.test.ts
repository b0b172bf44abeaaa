/** A whole migration of four merchants on the virtual clock: `npm run demo`, scene by scene, with all its checks. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { people } from '../../scripts/demo/office.ts';
import { scenes } from '../../scripts/demo/scenes.ts';
import type { Ran } from '../run-cli.ts';
import { DEMO_LIMIT_MS, runDemo, type Told } from '../run-demo.ts';

let directory: string;
let output: string;
let ran: Ran;
let told: Told;
let played: Map<string, Told['entries']>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'puente-migration-'));
  output = join(directory, 'reports');
  ran = await runDemo(directory, '--json', '--output', output);
  told = JSON.parse(ran.out) as Told; // printed by the demo
  played = byScene(told.entries);
}, DEMO_LIMIT_MS);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('the journey', () => {
  test.each(scenes.map(({ title }) => [title]))('%s', (title) => {
    const checks = (played.get(title) ?? []).filter(({ kind }) => kind === 'check');
    expect(checks.filter(({ holds }) => holds !== true)).toEqual([]);
    expect(checks.length, 'a scene that checks nothing shows nothing').toBeGreaterThan(0);
  });

  test('holds as a whole, and says so by its exit code', () => {
    expect([told.holds, ran.code, ran.err]).toEqual([true, 0, '']);
  });
});

describe('the papers', () => {
  const files = ['AR', 'BR', 'CL', 'MX', 'fleet'].flatMap((name) => [`${name}.html`, `${name}.json`]);
  const others = ['AR-start.json', 'fleet-start.json', 'fleet-decisions.csv', 'fleet-traffic.csv'];

  test('are all there, and the path that is told is one of them', () => {
    expect(readdirSync(output).toSorted()).toEqual([...files, ...others].toSorted());
    expect(told.report).toBe(join(output, 'fleet.html'));
    expect(readdirSync(directory)).toEqual(['reports']);
  });

  test('cover two weeks of the virtual clock', () => {
    const { period } = JSON.parse(readFileSync(join(output, 'fleet.json'), 'utf8')) as {
      period: { since: string; until: string };
    }; // the report's shape
    expect(Date.parse(period.until) - Date.parse(period.since)).toBeGreaterThan(10 * 86_400_000);
  });

  test('have no token, no secret and no path of a notice URL in them, and neither has the transcript', () => {
    const secrets = [
      'APP_USR-',
      'the secret of the tills',
      '/notification',
      ...Object.values(people).map(({ token }) => token),
    ];
    const texts = [...readdirSync(output).map((file) => readFileSync(join(output, file), 'utf8')), ran.out];
    for (const text of texts) for (const secret of secrets) expect(text).not.toContain(secret);
  });
});

function byScene(entries: Told['entries']): Map<string, Told['entries']> {
  const found = new Map<string, Told['entries']>();
  let title = '';
  for (const entry of entries) {
    if (entry.kind === 'scene') title = entry.text.replace(/^\d+\. /, '');
    found.set(title, [...(found.get(title) ?? []), entry]);
  }
  return found;
}
