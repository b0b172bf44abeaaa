/** The audit trail through the ops door and the command: read, verified, and a changed file detected (P16). */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fleetRoutes } from '../../../src/ops/api/fleet.ts';
import type { AuditView, ChainView } from '../../../src/ops/audit.ts';
import type { Report } from '../../../src/ops/report/report.ts';
import { ANA, ARGENTINA, BEN, type Bench, BRAZIL, call, EVA, OPS_TOKEN, PEOPLE, startBench } from '../../kit.ts';
import { closing } from '../../open.ts';
import type { Ran } from '../../run-cli.ts';
import { command } from '../moves/command.ts';

const CHANGES = 6;
const SEALING = { PUENTE_SECRET_KEY: 'an-invented-key-of-32-characters' };
let data_dir: string;
let head: string;
const made: string[] = [];

/** A database with a chain of six decisions by two people about two merchants; every test works on a copy. */
beforeAll(async () => {
  data_dir = freshDirectory();
  const bench = await startBench({ ...SEALING, ...PEOPLE, PUENTE_DATA_DIR: data_dir });
  for (let nth = 0; nth < CHANGES; nth += 1) {
    const merchant = nth % 2 === 0 ? ARGENTINA : BRAZIL;
    const person = nth % 2 === 0 ? BEN : EVA;
    const answer = await call(`${bench.app.ops_url}/api/merchants/${merchant}`, {
      method: 'PUT',
      token: person.token,
      body: {
        reason: `agreed, ${nth}`,
        revision: Math.floor(nth / 2),
        new: true,
        declined: ['finished', 'error', null][Math.floor(nth / 2)],
      },
    });
    if (answer.status !== 200) throw new Error(answer.text);
  }
  const report = (await call(`${bench.app.ops_url}/api/audit/verify`, { token: ANA.token })).body as ChainView; // the API's shape
  head = `${report.head?.sequence}:${report.head?.hash}`;
  await bench.close();
});
afterAll(() => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true });
});

function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'puente-audit-'));
  made.push(directory);
  return directory;
}

async function onCopy(change: string | null, work: (bench: Bench) => Promise<void>): Promise<void> {
  const copy = freshDirectory();
  cpSync(data_dir, copy, { recursive: true });
  if (change !== null) tamper(join(copy, 'puente.db'), change);
  await using bench = closing(await startBench({ ...SEALING, ...PEOPLE, PUENTE_DATA_DIR: copy }));
  await work(bench);
}

/** A report in each form, and by the command as a list without the chain. */
async function reportsOf(change: string | null): Promise<{ json: Report; csv: string; html: string; ran: Ran }> {
  const made: { json: Report; csv: string; html: string; ran: Ran }[] = [];
  await onCopy(change, async (bench) => {
    const text = async (form: string): Promise<string> => (await bench.ops(`/api/report?format=${form}`)).text;
    const env = { PUENTE_OPS_TOKEN: ANA.token, PUENTE_OPS_URL: bench.app.ops_url };
    const ran = await command(['report', '--format', 'csv', '--part', 'traffic'], env);
    made.push({
      json: JSON.parse(await text('json')) as Report, // the API's shape
      csv: await text('csv&part=audit'),
      html: await text('html'),
      ran,
    });
  });
  const [only] = made;
  if (only === undefined) throw new Error('no report was made');
  return only;
}

/** Drops the table's triggers, changes rows and restores the triggers, so only the chain shows the change. */
function tamper(file: string, change: string): void {
  const database = new Database(file);
  const guards = database
    .prepare<[], { name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'",
    )
    .all();
  expect(() => database.exec(change)).toThrow(/audit line can not be/);
  for (const { name } of guards) database.exec(`DROP TRIGGER ${name}`);
  database.exec(change);
  for (const { sql } of guards) database.exec(sql);
  database.close();
}

function audit(bench: Bench, ...argv: string[]): Promise<Ran> {
  const env = { PUENTE_OPS_TOKEN: ANA.token, PUENTE_OPS_URL: bench.app.ops_url };
  return command(['audit', ...argv], env);
}

describe('an untouched file', () => {
  it('shows decisions newest first, by subject, action and time', async () => {
    await onCopy(null, async (bench) => {
      const read = async (query: string): Promise<AuditView[]> =>
        ((await bench.ops(`/api/audit${query}`)).body as { lines: AuditView[] }).lines; // the API's shape
      const all = await read('');
      expect(all.map(({ sequence }) => sequence)).toEqual([6, 5, 4, 3, 2, 1]);
      expect(all[0]).toMatchObject({ who: 'eva', action: 'merchant settings', subject: BRAZIL, reason: 'agreed, 5' });
      expect(all[0]?.at).toMatch(/^\d{4}-.*Z$/);
      expect((await read(`?subject=${ARGENTINA}`)).map(({ who }) => who)).toEqual(['ben', 'ben', 'ben']);
      expect(await read('?action=stage')).toEqual([]);
      expect((await read('?limit=2')).map(({ sequence }) => sequence)).toEqual([6, 5]);
      const third = all[3]?.at ?? '';
      const window = `?since=${third}&until=2100-01-01T00:00:00Z`;
      expect((await read(window)).map(({ sequence }) => sequence).at(-1)).toBeLessThanOrEqual(3);
      expect(await read('?until=2020-01-01T00:00:00Z')).toEqual([]);
      for (const query of ['?limit=0', '?limit=1001', '?since=monday', `?since=${third}&until=${third}`, '?who=eva']) {
        expect([query, (await bench.ops(`/api/audit${query}`)).status]).toEqual([query, 400]);
      }
      for (const query of [
        '?expect_sequence=1',
        '?expect_hash=ab',
        `?expect_sequence=0&expect_hash=${'a'.repeat(64)}`,
      ]) {
        expect([query, (await bench.ops(`/api/audit/verify${query}`)).status]).toEqual([query, 400]);
      }
      for (const { path, answer } of fleetRoutes) {
        if (!('parse' in answer)) throw new Error('answers of the audit are JSON');
        answer.parse((await bench.ops(path)).body);
      }
    });
  });

  it('is proved by the command, with the head to note, and with an earlier head', async () => {
    await onCopy(null, async (bench) => {
      const verified = await audit(bench, 'verify');
      expect([verified.code, verified.out]).toEqual([0, `The chain is intact: 6 lines.\nIts head is ${head}\n`]);
      await bench.notify(ARGENTINA, { declined: 'error' });
      const later = await audit(bench, 'verify', '--expect', head);
      expect(later.out).toContain('The chain is intact: 7 lines.');
      expect(later.out).toContain('Line 6, given with --expect, is still in the chain.');
      expect(later.code).toBe(0);
      const listed = await audit(bench, 'list', '--subject', BRAZIL, '--limit', '1');
      expect(listed.out).toMatch(/eva .*merchant settings .*agreed, 5/);
      expect((await audit(bench, 'list', '--action', 'nothing')).out).toBe('No decision matches.\n');
      const wrong = await audit(bench, 'verify', '--expect', 'the last one');
      expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('64 hex digits')]);
    });
  });
});

describe('a file that somebody changed', () => {
  it.each([
    [
      "a line's reason",
      "UPDATE audit SET reason = 'nobody asked' WHERE sequence = 4",
      4,
      'line 4 is not what was written',
    ],
    ["a line's name", "UPDATE audit SET who = 'ana' WHERE sequence = 1", 1, 'line 1 is not what was written'],
    ["a line's hash", `UPDATE audit SET hash = '${'0'.repeat(64)}' WHERE sequence = 6`, 6, 'line 6 is not what'],
    ['a line that is gone', 'DELETE FROM audit WHERE sequence = 3', 4, 'line 3 is missing'],
    ['the first lines gone', 'DELETE FROM audit WHERE sequence < 3', 3, 'line 1 is missing'],
  ])('is caught at the first broken link: %s [P16]', async (_what, change, line, reason) => {
    await onCopy(change, async (bench) => {
      const { code, out } = await audit(bench, 'verify');
      expect(out).toContain(`The chain is broken at line ${line}: ${reason}`);
      expect(code).toBe(5);
    });
  });

  it('is told first in every report, and the command that makes one fails [P16]', async () => {
    const untouched = await reportsOf(null);
    expect(untouched.json.audit).toEqual({ intact: true, lines: 6, head: expect.any(Object), broken: null });
    expect(untouched.json.audit_head).toEqual(untouched.json.audit.head);
    expect(untouched.csv).toMatch(/^"intact","lines","head","broken"\r\n"true",6,/);
    expect(untouched.html).toContain('intact, 6 lines');
    expect(untouched.html).not.toContain('is broken');
    expect(untouched.ran).toMatchObject({ code: 0, err: '' });
    const broken = await reportsOf("UPDATE audit SET reason = 'nobody asked' WHERE sequence = 4");
    const found = { intact: false, lines: 3, head: { sequence: 3 }, broken: { sequence: 4 } };
    expect(broken.json.audit).toMatchObject(found);
    expect(broken.csv).toMatch(/\r\n"false",3,/);
    expect(broken.html.indexOf('The audit chain is broken')).toBeLessThan(broken.html.indexOf('<h2>Traffic'));
    expect(broken.html).toContain('line 4 is not what was written');
    expect(broken.ran.code).toBe(5);
    expect(broken.ran.out, 'the report is made all the same').toMatch(/^"operation",/);
    expect(broken.ran.err).toContain('The chain is broken at line 4');
  });

  it('at its end shows with the head that was noted before, and not without', async () => {
    await onCopy('DELETE FROM audit WHERE sequence > 4', async (bench) => {
      expect((await audit(bench, 'verify')).code).toBe(0);
      const { code, out } = await audit(bench, 'verify', '--expect', head, '--json');
      expect(JSON.parse(out)).toMatchObject({
        intact: false,
        lines: 4,
        broken: {
          sequence: 5,
          reason: 'lines 5 to 6 are gone: the chain ends before the line that was stored elsewhere',
        },
      });
      expect(code).toBe(5);
      const answer = await bench.ops('/api/audit/verify', { token: OPS_TOKEN });
      expect(answer.body).toMatchObject({ intact: true, lines: 4, expected: null });
    });
  });
});
