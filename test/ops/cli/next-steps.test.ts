/** The commands told next are typed as this Puente is installed: `npx puente` elsewhere would ask the registry for a package. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { launcher } from '../../../src/ops/cli/next-steps.ts';

const place = mkdtempSync(join(tmpdir(), 'puente-launcher-'));

it.each([
  ['a clone', 'clone', 'clone/bin/puente.js', { puente: 'npx puente', start: 'npm start', is_clone: true }],
  ['the image', 'app', 'app/src/cli.ts', { puente: 'node src/cli.ts', start: 'node src/main.ts', is_clone: false }],
  ['a folder', 'node_modules/puente', 'node_modules/.bin/puente', { puente: 'npx puente', start: 'npx puente serve' }],
  [
    'npx of a file',
    '_npx/a/node_modules/puente',
    '_npx/a/node_modules/.bin/puente',
    { puente: `'${place}/_npx/a/node_modules/.bin/puente'` },
  ],
  [
    'everybody',
    'opt/lib/node_modules/puente',
    'opt/bin/puente',
    { puente: 'puente', start: 'puente serve' },
    'opt/bin',
  ],
  ['everybody, off the path', 'usr/lib/node_modules/puente', 'usr/bin/puente', { puente: `${place}/usr/bin/puente` }],
  [
    'no program',
    'bare/node_modules/puente',
    'bare/x',
    { puente: `node '${place}/bare/node_modules/puente/bin/puente.js'` },
  ],
])('of %s', (_what, here, made, typed, path = '') => {
  mkdirSync(join(place, dirname(made)), { recursive: true });
  writeFileSync(join(place, made), '');
  expect(launcher(join(place, here), { PATH: join(place, path) }, place)).toMatchObject(typed);
});
