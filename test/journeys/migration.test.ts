/** A whole migration of four merchants on the virtual clock: the story of `npm run demo`, scene by scene, with every expectation. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { playJourney } from '../../scripts/demo/journey.ts';
import { people } from '../../scripts/demo/office.ts';
import { scenes } from '../../scripts/demo/scenes.ts';
import { createTranscript } from '../../scripts/demo/transcript.ts';

/** Only ends what hangs: on two quiet cores it takes a third of a minute. */
const LIMIT_MS = 240_000;

type Entries = ReturnType<ReturnType<typeof createTranscript>['entries']>;

const lines: string[] = [];
let output: string;
let report: string;
let played: Map<string, Entries>;

beforeAll(async () => {
  output = mkdtempSync(join(tmpdir(), 'puente-migration-'));
  const transcript = createTranscript((line) => void lines.push(line), false);
  report = await playJourney(transcript, output);
  played = byScene(transcript.entries());
}, LIMIT_MS);
afterAll(() => rmSync(output, { recursive: true, force: true }));

describe('the journey', () => {
  test.each(scenes.map(({ title }) => [title]))('%s', (title) => {
    const checks = (played.get(title) ?? []).filter(({ kind }) => kind === 'check');
    expect(checks.filter(({ holds }) => holds !== true)).toEqual([]);
    expect(checks.length, 'a scene that checks nothing shows nothing').toBeGreaterThan(0);
  });

  test('tells each line as it happens, plainly', () => {
    const told = lines.join('\n');
    for (const { title } of scenes) expect(told).toContain(`. ${title}`);
    expect(told).not.toContain('\u001b[');
  });
});

describe('the papers', () => {
  const files = ['AR', 'BR', 'CL', 'MX', 'fleet'].flatMap((name) => [`${name}.html`, `${name}.json`]);
  const others = ['AR-start.json', 'fleet-start.json', 'fleet-decisions.csv', 'fleet-traffic.csv'];

  test('are all there, and the path that is told is one of them', () => {
    expect(readdirSync(output).toSorted()).toEqual([...files, ...others].toSorted());
    expect(report).toBe(join(output, 'fleet.html'));
  });

  test('cover two weeks of the virtual clock', () => {
    const { period } = JSON.parse(readFileSync(join(output, 'fleet.json'), 'utf8')) as {
      period: { since: string; until: string };
    }; // the report's own form
    expect(Date.parse(period.until) - Date.parse(period.since)).toBeGreaterThan(10 * 86_400_000);
  });

  test('have no token, no secret and no path of a notice URL in them, and neither has the transcript', () => {
    const secrets = [
      'APP_USR-',
      'the secret of the tills',
      '/notification',
      ...Object.values(people).map(({ token }) => token),
    ];
    const texts = [...readdirSync(output).map((file) => readFileSync(join(output, file), 'utf8')), lines.join('\n')];
    for (const text of texts) for (const secret of secrets) expect(text).not.toContain(secret);
  });
});

function byScene(entries: Entries): Map<string, Entries> {
  const found = new Map<string, Entries>();
  let title = '';
  for (const entry of entries) {
    if (entry.kind === 'scene') title = entry.text.replace(/^\d+\. /, '');
    found.set(title, [...(found.get(title) ?? []), entry]);
  }
  return found;
}
