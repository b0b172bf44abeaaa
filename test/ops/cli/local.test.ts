/** What commands say that call no ops door, init and migrate-store: each sentence in a golden file. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'vitest';
import { ARGENTINA, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { puente } from '../../run-cli.ts';
import { startServer } from '../../store/postgres/server.ts';
import { command } from '../moves/command.ts';
import { toldBy, wordsOf } from './golden.ts';

const folder = mkdtempSync(join(tmpdir(), 'puente-local-'));

/** Ports that nothing else can hold while the tests run. */
const REAL = '--yes --public-url https://puente.shop.example --public-port 0 --set ops.port=0';

it('init: refused, written, written anew, and for a user of another machine', async () => {
  const lines = [
    'one',
    'one --yes',
    'one --yes --public-port http --notify https://10.0.0.8/in --user nobody-here --tls-key key.pem',
    `one ${REAL} --person ana --person ana:viewer`,
    `one ${REAL} --webhook-secret`,
    `one ${REAL}`,
    `one ${REAL}`,
    `one ${REAL} --force --notify https://shop.example/in --set mappings.folder=`,
    `two ${REAL} --elsewhere --user puente --person ana:viewer --person eva:approver`,
    `three ${REAL} --elsewhere --upstream sandbox --person bot:rollback --set ops.port=9081`,
  ];
  await toldBy(
    'init',
    lines.map((line) => wordsOf(`init --into ${folder}/${line}`)),
    command,
    [[folder, 'FOLDER']],
  );
});

const server = openForAll(async () => {
  const started = await startServer();
  return { ...started, close: started.remove };
});

it('migrate-store: refused, ahead of the stop, whole, and once more', async () => {
  const data = join(folder, 'data');
  const running = await startBench({ PUENTE_DATA_DIR: data });
  await running.notify(ARGENTINA, { name: 'Café Sur' });
  const whole = wordsOf('migrate-store --from sqlite --to postgres');
  const env = { PUENTE_DATA_DIR: data, PUENTE_POSTGRES_URL: await server.database() };
  const envs = [{ PUENTE_DATA_DIR: data }, { ...env, PUENTE_DATA_DIR: join(folder, 'nowhere') }];
  await toldBy(
    'migrate-store',
    [whole, whole, whole, [...whole, '--ahead'], whole, whole],
    async (words) => {
      const ran = await puente(words, { env: envs.shift() ?? env });
      if (words.includes('--ahead')) await running.close();
      return ran;
    },
    [
      [folder, 'FOLDER'],
      [/127\.0\.0\.1:\d+/g, 'SERVER'],
      [/\b[0-9a-f]{16}\b/g, 'START-OF-SHA-256'],
      // Said while it takes long.
      [/(?:stderr: )?migrate-store: (?:copying|comparing) .*\n/g, ''],
    ],
  );
});
