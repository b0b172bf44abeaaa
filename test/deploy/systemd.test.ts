/** The unit of deploy/systemd: systemd accepts it, and it starts the same program as `npm start`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { HOUSE } from '../run-cli.ts';
import { missing, read, unknownVariables, usualOptions } from './kit.ts';

const unit = read('deploy/systemd/puente.service');
const told = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';

describe('deploy/systemd/puente.service', () => {
  it('runs Node as `npm start` does', () => {
    const [node, ...words] = told('ExecStart').split(' ');
    expect(node).toBe('/opt/puente/bin/node');
    expect(words).toEqual([...usualOptions(), '/opt/puente/lib/node_modules/puente/dist/main.js']);
  });

  it('sets settings alone, and waits until calls have ended', () => {
    const variables = [...unit.matchAll(/^Environment=(\w+)=/gm)].map(([, name]) => name ?? '');
    expect(unknownVariables(variables)).toEqual([]);
    const { shutdown } = loadConfig({ env: {}, cwd: HOUSE });
    const wait_ms = Number.parseInt(told('TimeoutStopSec'), 10) * 1_000;
    expect(wait_ms).toBeGreaterThan(shutdown.farewell_ms + shutdown.grace_ms);
  });

  it('is what systemd takes', ({ skip }) => {
    const why = missing('systemd-analyze');
    skip(why !== null, why ?? '');
    const directory = mkdtempSync(join(tmpdir(), 'puente-unit-'));
    // Only the path of Node differs on this machine.
    const here = unit.replace('/opt/puente/bin/node', process.execPath);
    writeFileSync(join(directory, 'puente.service'), here);
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', join(directory, 'puente.service')], {
      encoding: 'utf8',
    });
    expect([status, stdout + stderr]).toEqual([0, '']);
  });
});
