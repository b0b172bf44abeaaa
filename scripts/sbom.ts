/** `npm run sbom`: the bill of materials (CycloneDX) of what runs in production, by `npm sbom` over that part of the lock file. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const HOUSE = join(import.meta.dirname, '..');

/** The lock file as far as it is looked at. */
interface Lock {
  packages: Record<string, { dev?: boolean; devDependencies?: unknown }>;
}

/**
 * `npm sbom --omit=dev` leaves out what a development dependency uses too, zod and yaml among it; so the lock file is
 * handed to it without those that are for development alone.
 * @returns CycloneDX, JSON text. @throws Error with npm's own words when the lock file does not hold together.
 */
export function billOfMaterials(house = HOUSE): string {
  const parent = mkdtempSync(join(tmpdir(), 'puente-sbom-'));
  try {
    const directory = join(parent, 'puente'); // npm calls the whole by the name of its directory
    mkdirSync(directory);
    const { devDependencies: _manifest, ...manifest } = JSON.parse(readFileSync(join(house, 'package.json'), 'utf8'));
    const lock = JSON.parse(readFileSync(join(house, 'package-lock.json'), 'utf8')) as Lock; // npm's own form
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
