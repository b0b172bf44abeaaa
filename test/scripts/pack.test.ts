/** `npm pack`: the package runs below `node_modules`, where Node strips no types, and has nothing else. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { HOUSE } from '../run-cli.ts';

let place: string;
let home: string;

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'puente-pack-'));
  const asked = ['pack', '--json', '--pack-destination', place];
  execFileSync('npm', asked, { cwd: HOUSE, encoding: 'utf8' });
  const [file = ''] = readdirSync(place);
  home = join(place, 'node_modules', 'puente');
  mkdirSync(home, { recursive: true });
  execFileSync('tar', ['-xzf', join(place, file), '-C', home, '--strip-components=1']);
  symlinkSync(join(HOUSE, 'node_modules'), join(home, 'node_modules'));
});

it('has the program without its types, the tables and the settings, and neither sources nor tests', () => {
  expect(readdirSync(home).sort()).toEqual(
    'CHANGELOG.md LICENSE README.md SECURITY.md bin config deploy dist mappings node_modules package.json'.split(' '),
  );
  const files = readdirSync(join(home, 'dist'), { recursive: true, encoding: 'utf8' });
  expect(files.filter((file) => file.endsWith('.ts'))).toEqual([]);
  expect(files).toEqual(expect.arrayContaining(['main.js', 'cli.js', join('store', 'sqlite', 'writer.js')]));
});

it('has each path that package.json names, what npm adds, and the words of every language', () => {
  const { files, keywords, bin } = JSON.parse(readFileSync(join(HOUSE, 'package.json'), 'utf8'));
  const languages = ['en', 'es', 'pt'].map((one) => `dist/locales/${one}.json`);
  const needed = [...files, ...Object.values<string>(bin), ...languages, 'README.md', 'LICENSE'];
  expect(needed.filter((path) => !existsSync(join(home, path)))).toEqual([]);
  expect(files).toEqual(expect.arrayContaining(['mappings/', 'config/', 'dist/']));
  expect(keywords).toEqual(expect.arrayContaining(['mercado-pago', 'point', 'qr', 'migration']));
});

it('leaves nothing of the package in the clone', () => {
  expect(readdirSync(HOUSE).filter((name) => name === 'dist' || name.endsWith('.tgz'))).toEqual([]);
});

it.each([
  ['--version', /^\d+\.\d+\.\d+$/m],
  ['check', /^All proofs hold/m],
])('runs puente %s', (word, told) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(home, 'bin/puente.js'), word], {
    cwd: place,
    env: {},
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(told);
});
