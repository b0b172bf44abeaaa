/** Commands made from rows: each example of the help makes a call that its row accepts. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { opsRoutes } from '../../../src/ops/api/api.ts';
import { renderRows } from '../../../src/ops/api/openapi.ts';
import { commandRows } from '../../../src/ops/api/rows.ts';
import { commandsOf, manualOf } from '../../../src/ops/cli/help.ts';
import { addRowCommands, isLong } from '../../../src/ops/cli/rows.ts';
import { listen } from '../../listen.ts';
import { programHere } from '../../program.ts';
import { command } from '../moves/command.ts';

interface Call {
  method: string;
  url: URL;
  body: unknown;
}

/** The fields of any answer that a command needs to continue. */
const ANSWER = {
  ...{
    id: 'an-id',
    revision: 3,
    state: 'done',
    summary_said: { facts: { refused: 0 } },
    verdict: 'ready',
    unproven: [],
    unknown: [],
    near: [],
    intact: true,
    in_the_way: [],
    level: 'ok',
  },
  ...{ plan: '0123456789abcdef', changes: 0, refused: 0, not_made: 0 },
  ...{ orders: { open: 0 }, news: 'done', backup: {}, unreadable: 0, settings: {}, merchants: [] },
};

const directory = mkdtempSync(join(tmpdir(), 'puente-rows-'));
let door: Server;
let calls: Call[] = [];
beforeAll(async () => {
  writeFileSync(join(directory, 'shops.yaml'), 'merchants: [{id: 700100200}]\n');
  door = createServer(async (request, response) => {
    const body = request.method === 'GET' ? undefined : await json(request);
    calls.push({ method: request.method ?? '', url: new URL(request.url ?? '', 'http://door'), body });
    response.setHeader('content-type', 'application/json').end(JSON.stringify(ANSWER));
  });
  await listen(door);
});
afterAll(() => {
  door.close();
});

const examples = commandsOf(programHere())
  .filter(({ command }) => command.options.some(({ long }) => long === '--ops'))
  .flatMap(({ name, command }) => manualOf(command).examples.map((line) => ({ name, line })))
  .filter(({ name, line }) => line.startsWith(`puente ${name}`) && !/--offline|--file|report diff|--expect/.test(line));

/** The words after `puente`, split as a shell splits them; output files, and a file of merchants, are in the test's folder. */
function wordsOf(line: string): string[] {
  const own = line.split(/ (?:>|\||&&) /)[0]?.replace(/(?<=--output )|(?=\bshops\.yaml\b)/, `${directory}/`) ?? '';
  return [...own.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)]
    .map(([, one, two, three]) => one ?? two ?? three ?? '')
    .slice(1);
}

function rowOf({ method, url }: Call) {
  const isHere = (path: string): boolean => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`).test(url.pathname);
  const rows = opsRoutes.filter((row) => row.method === method && isHere(row.path));
  return rows.find(({ path }) => path === url.pathname) ?? rows[0];
}

describe('an example', () => {
  it.each(examples)('$line: makes calls that their rows take', async ({ name, line }) => {
    calls = [];
    const ops = `http://127.0.0.1:${(door.address() as AddressInfo).port}`; // it listens on TCP
    const { err, code } = await command([...wordsOf(line), '--json', '--ops', ops], { PUENTE_OPS_TOKEN: 'a token' });
    expect([err.replace(/.* is written\.\n|The capture is in .*\n/, ''), code]).toEqual(['', 0]);
    const rows = calls.map((one) => ({ ...one, row: rowOf(one) }));
    for (const { row, url, body } of rows) {
      expect(row, url.pathname).toBeDefined();
      const query = Object.fromEntries(url.searchParams);
      expect((row?.query ?? z.strictObject({})).safeParse(query).error?.message, url.href).toBeUndefined();
      if (row?.body !== undefined) expect(row.body.safeParse(body).error?.message, url.href).toBeUndefined();
    }
    const commands = rows.map(({ row }) => row?.command.split(' --')[0]);
    expect(commands).toContain(/^capture o/.test(name) ? 'merchants set' : name);
  });

  it('asks for an id where no name is accepted', () => {
    const commands = commandsOf(programHere());
    const shown = (name: string) =>
      commands.find((one) => one.name === name)?.command.options.find(({ long }) => long === '--merchant')?.flags;
    for (const name of ['trace', 'reconcile', 'notices replay', 'explain'])
      expect([name, shown(name)]).toEqual([name, '--merchant <id>']);
    for (const name of ['audit list', 'sales', 'capture export'])
      expect([name, shown(name)]).toEqual([name, '--merchant <merchant>']);
  });

  it('is there for every command of a running Puente', () => {
    expect(new Set(examples.map(({ name }) => name)).size).toBeGreaterThan(40);
  });
});

it('a command waits for work on several merchants as long as that takes, and for others as people do', () => {
  const long = commandRows.filter((row) => isLong({}, row)).map(({ command }) => command);
  const many = ['brownout schedule', 'bulk start', 'merchants import', 'plan export', 'ramp', 'ramp --dry-run'];
  expect(long.toSorted()).toEqual([...many, 'rollback-by-alert']);
});

it('commands are made from the rows of the API as they are now', () => {
  const written = readFileSync(join(import.meta.dirname, '../../../src/ops/api/rows.json'), 'utf8');
  expect(written, 'npm run generate writes them').toBe(renderRows(opsRoutes));
});

it('a command that no row has is refused', () => {
  expect(() => addRowCommands(programHere(), { 'do nothing': { examples: [] } })).toThrow(
    'no row has the command do nothing',
  );
});
