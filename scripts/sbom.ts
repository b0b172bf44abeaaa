/** `npm run sbom`: the bill of materials (CycloneDX) of the production packages, made by `npm sbom`. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const HOUSE = join(import.meta.dirname, '..');

/** The fields of the lock file used here. */
interface Lock {
  packages: Record<string, { dev?: boolean; devDependencies?: unknown }>;
}

/**
 * `npm sbom --omit=dev` also omits packages that a development dependency shares, zod and yaml among them; so npm gets
 * a lock file without the development-only packages.
 * @returns CycloneDX as JSON text. @throws Error with npm's message when the lock file is inconsistent.
 */
export function billOfMaterials(house = HOUSE): string {
  const parent = mkdtempSync(join(tmpdir(), 'puente-sbom-'));
  try {
    const directory = join(parent, 'puente'); // npm names the component after its directory
    mkdirSync(directory);
    const { devDependencies: _manifest, ...manifest } = JSON.parse(readFileSync(join(house, 'package.json'), 'utf8'));
    const lock = JSON.parse(readFileSync(join(house, 'package-lock.json'), 'utf8')) as Lock; // npm's form
    const running = Object.entries(lock.packages).filter(([, { dev }]) => dev !== true);
    const packages = Object.fromEntries(running);
    const { devDependencies: _root, ...root } = packages[''] ?? {};
    writeFileSync(join(directory, 'package.json'), JSON.stringify(manifest));
    writeFileSync(
      join(directory, 'package-lock.json'),
      JSON.stringify({ ...lock, packages: { ...packages, '': root } }),
    );
    const options = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
    return execFileSync('npm', options, { cwd: directory, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
}

if (import.meta.main) process.stdout.write(billOfMaterials());
