/** `puente init --postgres` with a real server: a real Puente starts on the written files and serves a till. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, call, DEVICE, eventually, POINT, startBench, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { keys, puenteInTerminal } from '../ops/cli/terminal.ts';
import { puente } from '../run-cli.ts';
import { type Server, startServer } from '../store/postgres/server.ts';
import { starter } from './start.ts';

interface Finding {
  name: string;
  level: string;
  says: string;
}

describe('an installation on a PostgreSQL server', () => {
  const into = mkdtempSync(join(tmpdir(), 'puente-init-postgres-'));
  const config = join(into, 'puente.yaml');
  let server: Server;
  let url: string;
  const bench = openForAll(() => startBench());
  beforeAll(async () => {
    server = await startServer();
    url = await server.database();
  });
  afterAll(() => server.remove());
  const start = starter();

  it('is written with the address in a file of its own, which nobody else reads', async () => {
    const said = ['--upstream', bench.sandbox.url, '--public-url', 'https://puente.shop.example', '--public-port', '0'];
    const argv = ['init', '--into', into, '--json', '--postgres', ...said, '--set', 'ops.port=0'];
    const { code, out } = await puente(argv, { env: { PUENTE_POSTGRES_URL: url } });
    const file = join(into, 'secrets', 'postgres-url');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      config,
      secrets: expect.arrayContaining([expect.objectContaining({ path: file })]),
    });
    expect(out + readFileSync(config, 'utf8')).not.toContain('not-a-secret');
    expect(readFileSync(config, 'utf8')).toContain(`url_file: ${file}`);
    expect([readFileSync(file, 'utf8'), (statSync(file).mode & 0o777).toString(8)]).toEqual([`${url}\n`, '600']);
  });

  it('is asked for at a terminal: a server that does not answer is tried again, named otherwise, or left for later', async () => {
    const other = mkdtempSync(join(tmpdir(), 'puente-init-postgres-asked-'));
    const said = ['--upstream', bench.sandbox.url, '--legacy-upstream', bench.sandbox.url, '--notify', ''];
    const ports = ['--public-host', '127.0.0.1', '--public-port', '0', '--set', 'ops.port=0'];
    const door = ['--public-url', 'https://puente.shop.example', ...ports, '--person', 'ana:viewer'];
    const terminal = puenteInTerminal(['init', '--into', other, ...said, ...door]);
    await terminal.answer('Does Puente terminate TLS itself?', 'n');
    await terminal.answer("Secret of the application's order webhook", keys.enter);
    await terminal.answer('Where does Puente store', `${keys.down}${keys.enter}`);
    await terminal.answer('Address of the database', `db.example${keys.enter}`);
    await terminal.answer(
      'Allowed is an address',
      `${keys.clear}postgres://puente:hush@127.0.0.1:1/puente${keys.enter}`,
    );
    await terminal.answer('Name another address', keys.enter);
    await terminal.answer('Name another address', `${keys.down}${keys.enter}`);
    await terminal.answer('Address of the database', `${url}${keys.enter}`);
    await terminal.answer('Which system user runs Puente?', keys.enter);
    await terminal.answer('Write them?', keys.enter);
    expect(await terminal.ended()).toBe(0);
    expect(readFileSync(join(other, 'secrets', 'postgres-url'), 'utf8')).toBe(`${url}\n`);
    expect(terminal.shown().match(/can't be reached/g)).toHaveLength(2);
    expect(terminal.shown()).toContain('The server takes this user');
    expect(terminal.shown()).not.toContain('hush');
  });

  it('is looked at by the doctor before its first start', async () => {
    const { code, out } = await puente(['doctor', '--offline', '--json'], { env: { PUENTE_CONFIG: config } });
    expect([code, findingOf(out, 'database')]).toEqual([
      0,
      { level: 'ok', says: expect.stringContaining('takes this user') },
    ]);
  });

  it('starts, is ready, serves a till, and keeps it all on the server', async () => {
    const printed = await start({ PUENTE_CONFIG: config });
    const [, door] = /listening on +(\S+),/.exec(printed) ?? [];
    const [, ops = ''] = /ops door +(\S+)/.exec(printed) ?? [];
    await eventually(
      () => call(`${ops}/readyz`),
      ({ status }) => status === 200,
    );
    const devices = await call(`http://${door}${POINT}/devices`, { token: tokenOf(ARGENTINA) });
    expect([devices.status, devices.text]).toEqual([200, expect.stringContaining(DEVICE)]);
    const env = {
      PUENTE_OPS_URL: ops,
      PUENTE_OPS_TOKEN: readFileSync(join(into, 'secrets', 'ops-token'), 'utf8').trim(),
    };
    const { code, out } = await puente(['doctor', '--json'], { env });
    expect([code, findingOf(out, 'schema')]).toEqual([0, { level: 'ok', says: expect.stringMatching(/^PostgreSQL/) }]);
    const set = ['merchants', 'set', ARGENTINA, '--declined', 'finished', '--reason', 'a test sets it'];
    expect((await puente(set, { env })).code).toBe(0);
    expect(await server.run(url, 'SELECT id FROM merchants')).toEqual([{ id: ARGENTINA }]);
    const left = existsSync(join(into, 'data')) ? readdirSync(join(into, 'data')) : [];
    expect(left.filter((name) => name.includes('.db'))).toEqual([]);
  });
});

function findingOf(report: string, name: string): Omit<Finding, 'name'> | undefined {
  const { findings } = JSON.parse(report) as { findings: Finding[] }; // the form of `doctor --json`
  const found = findings.find((one) => one.name === name);
  return found === undefined ? undefined : { level: found.level, says: found.says };
}
