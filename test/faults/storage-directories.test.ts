/** Data directories that can't be used: every command that opens one says so in a sentence with the repair, and ends. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPS_TOKEN, startBench } from '../kit.ts';
import { closing } from '../open.ts';
import { HOUSE, puente, type Ran } from '../run-cli.ts';
import { openStore } from '../store/sqlite/kit.ts';

/** `nobody`, who owns nothing of these tests. Only root can become another user. */
const NOBODY = 65_534;
const is_root = process.getuid?.() === 0;
/** Only ends a test that hangs. */
const PATIENCE_MS = 60_000;
const directory = mkdtempSync(join(tmpdir(), 'puente-directories-'));
const backup = join(directory, 'backup.db');

beforeAll(async () => {
  chmodSync(directory, 0o755);
  await (await openStore(backup)).close();
  rmSync(`${backup}.lock`, { force: true });
  chmodSync(backup, 0o644);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const URL_OF_NONE = 'postgres://puente:not-a-secret@127.0.0.1:1/puente';
const PORTS = { PUENTE_PUBLIC_PORT: '0', PUENTE_OPS_PORT: '0', PUENTE_SANDBOX_PORT: '0' };
const REAL = { PUENTE_POSTGRES_URL: URL_OF_NONE, PUENTE_SECRET_KEY: 'k'.repeat(32) };

/** Each command that opens a data directory. @param at the directory. */
const COMMANDS: Record<string, (at: string) => { argv: string[]; env: Record<string, string> }> = {
  serve: (at) => ({ argv: ['serve'], env: { PUENTE_DATA_DIR: at, ...PORTS } }),
  doctor: (at) => ({ argv: ['doctor', '--offline'], env: { PUENTE_DATA_DIR: at } }),
  'migrate-store': (at) => ({
    argv: ['migrate-store', '--from', 'sqlite', '--to', 'postgres'],
    env: { PUENTE_DATA_DIR: at, ...REAL },
  }),
  restore: (at) => ({ argv: ['restore', backup, '--into', at, '--replace', '--reason', 'a test'], env: {} }),
};
const every = Object.keys(COMMANDS);
/** The nightly proof runs each command on each fault; by day `serve` meets all, and each other command two of them. */
const NIGHT = process.env.NIGHT === '1';
const BY_DAY: Record<string, readonly string[]> = {
  doctor: ['a file', 'a newer build'],
  'migrate-store': ['below a file', 'another user'],
  restore: ['no database', 'read-only'],
};
const meets = (command: string, fault: string): boolean =>
  NIGHT || command === 'serve' || (BY_DAY[command] ?? []).includes(fault);

/** Runs a command on a directory, as `nobody` where asked, or in a shell that has prepared something first. */
function run(command: string, at: string, how: { uid?: number; shell?: string } = {}): Promise<Ran> {
  const { argv, env } = COMMANDS[command]?.(at) ?? { argv: [], env: {} };
  const words = [process.execPath, 'bin/puente.js', ...argv];
  const [program = '', ...rest] =
    how.shell === undefined ? words : ['unshare', '--mount', 'sh', '-c', `${how.shell}; exec "$@"`, 'sh', ...words];
  const user = how.uid === undefined ? {} : { uid: how.uid, gid: how.uid };
  const child = spawn(program, rest, {
    cwd: HOUSE,
    env: { PATH: process.env.PATH, ...env },
    timeout: PATIENCE_MS,
    ...user,
  });
  const ran = { code: -1, out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    ran.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    ran.err += text;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...ran, code: code ?? -1 })));
}

/** One sentence with a repair: no stack, and no end by a signal. The doctor's is a finding. */
function expectSentence({ code, out, err }: Ran, command: string, says: RegExp): void {
  expect(out + err).not.toMatch(/^\s+at |node:internal|Error:/m);
  expect(code).toBe(1);
  if (command === 'doctor') expect(out.replaceAll(/\s+/g, ' ')).toMatch(says);
  else expect(err.trimEnd().split('\n')).toEqual([expect.stringMatching(says)]);
}

const REPAIR = /give this user|Give this user|name another|Name another|set PUENTE_DATA_DIR/;

describe.each(every)('%s', { timeout: 2 * PATIENCE_MS }, (command) => {
  const places: [fault: string, at: string][] = [
    ['a file', 'package.json'],
    ['below a file', 'package.json/below'],
    ['where nothing can be made', '/proc/nothing'],
  ];
  it.each(places.filter(([fault]) => meets(command, fault)))(
    'refuses a directory that is %s [F38]',
    async (_what, at) => {
      expectSentence(await run(command, at), command, REPAIR);
    },
  );

  it.runIf(is_root && meets(command, 'read-only'))('refuses one that this user may not write to [F38]', async () => {
    const at = join(directory, `${command}-read-only`);
    mkdirSync(at);
    cpSync(backup, join(at, 'puente.db'));
    chmodSync(at, 0o555);
    expectSentence(await run(command, at, { uid: NOBODY }), command, /[Gg]ive this user|for this user/);
  });

  it.runIf(is_root && command === 'serve')('refuses a file that this user may not write to [F42]', async () => {
    const at = join(directory, 'read-only-file');
    const file = join(at, 'puente.db');
    mkdirSync(at);
    chmodSync(at, 0o777);
    cpSync(backup, file);
    chmodSync(file, 0o444);
    const says = /can not be read and written.*Give this user the right/;
    expectSentence(await run(command, at, { uid: NOBODY }), command, says);
  });

  it.runIf(is_root && meets(command, 'another user'))('refuses one that belongs to another user [F38]', async () => {
    const at = join(directory, `${command}-of-another`);
    mkdirSync(at, { mode: 0o700 });
    cpSync(backup, join(at, 'puente.db'));
    expectSentence(await run(command, at, { uid: NOBODY }), command, /[Gg]ive this user|as its user/);
  });

  const with_none = it.runIf(meets(command, 'no database'));
  with_none(
    'refuses a file that is no database, and leaves it alone; a restore puts another in its place [F41]',
    async () => {
      const at = mkdtempSync(join(directory, 'none-'));
      const file = join(at, 'puente.db');
      writeFileSync(file, 'a letter to Ana, long enough to be taken for a page\n'.repeat(200));
      const before = readFileSync(file);
      const ran = await run(command, at);
      if (command === 'restore') return expect([ran.code, ran.err]).toEqual([0, '']);
      expectSentence(ran, command, /not an SQLite database.* [Rr]estore a backup|NOTADB.* Restore a backup/);
      expect(readFileSync(file).equals(before)).toBe(true);
    },
  );

  it.runIf(meets(command, 'a newer build'))('refuses the file of a newer build [F56]', async () => {
    const at = mkdtempSync(join(directory, 'newer-'));
    const file = join(at, 'puente.db');
    cpSync(backup, file);
    const database = new Database(file);
    database.pragma('user_version = 999');
    database.close();
    if (command !== 'restore') return expectSentence(await run(command, at), command, /999.*(newer build|build that)/);
    const target = mkdtempSync(join(directory, 'older-'));
    const ran = await puente(['restore', file, '--into', target, '--reason', 'a test']);
    expectSentence(ran, command, /schema 999 and this build has up to \d+\. Restore it with the newer build/);
  });
});

describe('a disk without room', { timeout: 2 * PATIENCE_MS }, () => {
  const refused = spawnSync('unshare', ['--mount', 'true'], { encoding: 'utf8' });
  const why = refused.status === 0 ? null : `unshare can't be run: ${refused.stderr}`;

  it.for(['serve', 'restore'])(
    'for the first tables is reported by %s, with the repair [F44]',
    async (command, { skip }) => {
      skip(why !== null, why ?? '');
      const at = mkdtempSync(join(directory, 'full-'));
      const ran = await run(command, at, { shell: `mount -t tmpfs -o size=64k none '${at}'` });
      expectSentence(ran, command, /the disk is full\. Make room on it/);
    },
  );
});

describe('backup', { timeout: 2 * PATIENCE_MS }, () => {
  it.each(['package.json', 'package.json/below', '/proc/nothing'])('refuses the directory %s', async (at) => {
    await using bench = closing(await startBench({ PUENTE_BACKUP_DIRECTORY: at }));
    const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN };
    expectSentence(await puente(['backup'], { env }), 'backup', /backup/);
  });
});
