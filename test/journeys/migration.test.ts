/** A whole migration of four merchants on the virtual clock: `npm run demo` as a person runs it, scene by scene, with all its checks. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { people } from '../../scripts/demo/office.ts';
import { scenes } from '../../scripts/demo/scenes.ts';
import { HOUSE, type Ran } from '../run-cli.ts';

/** Only ends a test that hangs. */
const LIMIT_MS = 300_000;

let directory: string;
let output: string;
let ran: Ran;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'puente-migration-'));
  ran = await runDemo();
  output = dirname(/The report: (.+)\n$/.exec(ran.out)?.[1] ?? '');
}, LIMIT_MS);

describe('the journey', () => {
  test.each(scenes.map(({ title }, index) => [title, index + 1]))('%s', (title, nth) => {
    const lines = ran.out.split(/^(?=\d+\. )/m).find((scene) => scene.startsWith(`${nth}. ${title}\n`)) ?? '';
    expect(lines.match(/^ {2}✗ .+$/gm)).toBeNull();
    expect(lines.match(/^ {2}✓ /gm), 'a scene that checks nothing shows nothing').not.toBeNull();
  });

  test('holds as a whole, and says so in a plain last line and by its exit code', () => {
    expect([ran.code, ran.err], ran.out).toEqual([0, '']);
    expect(ran.out).toMatch(/✓ AR: (\d+) sales at the tills, the same \1 at the vendor, each once\n/);
    expect(ran.out).not.toContain('\u001b[');
    expect(ran.out).not.toContain('✗');
    expect(ran.out).toContain('Everything held.');
  });
});

describe('the papers', () => {
  const files = ['AR', 'BR', 'CL', 'MX', 'fleet'].flatMap((name) => [`${name}.html`, `${name}.json`]);
  const others = ['AR-start.json', 'fleet-start.json', 'fleet-decisions.csv', 'fleet-traffic.csv'];

  test('are all there, and the path that is told is one of them', () => {
    expect(readdirSync(output).toSorted()).toEqual([...files, ...others].toSorted());
    expect(readFileSync(join(output, 'fleet.html'), 'utf8')).toContain('<html');
    expect(ran.out).toContain(`The report: ${join(output, 'fleet.html')}\n`);
    expect(readdirSync(directory).map((name) => join(directory, name))).toEqual([output]);
  });

  test('cover two weeks of the virtual clock', () => {
    const { period } = JSON.parse(readFileSync(join(output, 'fleet.json'), 'utf8')) as {
      period: { since: string; until: string };
    }; // the report's shape
    expect(Date.parse(period.until) - Date.parse(period.since)).toBeGreaterThan(10 * 86_400_000);
  });

  test('name each merchant beside its id, and so does what is said on the way', () => {
    const fleet = readFileSync(join(output, 'fleet.html'), 'utf8');
    const named = ['200 (Café del Sur)', '300 (Padaria Sol)', '500 (Bazar Luz)', '400 (Tacos Norte)'];
    for (const one of named) expect(fleet).toContain(`700100${one}`);
    expect(readFileSync(join(output, 'CL.html'), 'utf8')).toContain('merchant 700100500 (Bazar Luz)</h1>');
    expect(ran.out).toContain('700100200 (Café del Sur) is not moved.');
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

/** In a directory of its own, also for temporary files, so that the test sees all that is left behind. */
function runDemo(): Promise<Ran> {
  const env = { ...process.env, TMPDIR: directory, NO_COLOR: '' };
  const options = { env, cwd: directory, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(HOUSE, 'scripts', 'demo.ts')], options, (error, out, err) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1, out, err });
    });
  });
}
