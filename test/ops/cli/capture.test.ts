/** `puente capture`, `assess` and `replay` as people and pipelines run them. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ARGENTINA, DEVICE, eventually, OPS_TOKEN, POINT, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { HOUSE, puente } from '../../run-cli.ts';
import { lines } from '../capture/files.ts';
import { command } from '../moves/command.ts';

const directory = mkdtempSync(join(tmpdir(), 'puente-cli-capture-'));

/** A folder with a row of one's own for ARGENTINA alone, by which a create with a description is refused. */
function ownFolder(field: string): string {
  const folder = mkdtempSync(join(directory, 'own-'));
  const file = join(folder, 'merchants', ARGENTINA, 'point', 'create.request.yaml');
  mkdirSync(dirname(file), { recursive: true });
  const why = 'Our tills must not send it any more.';
  writeFileSync(file, `rows:\n  - { drop: ${field}, policy: refuse, why: ${why} }\n`);
  return folder;
}

function written(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

describe('assess', () => {
  const create = {
    method: 'POST',
    path: `${POINT}/devices/${DEVICE}/payment-intents`,
    status: 200,
    at: '2026-11-21T09:00:00Z',
  };

  test("each merchant's calls are assessed by its own tables, of --folder or of the settings", async () => {
    const of = (merchant: string) => ({
      ...create,
      headers: { authorization: `Bearer APP_USR-4004001-112026-00000000000000000000000000000a01-${merchant}` },
      body: { amount: 1500, notification_url: 'https://shop.example/n' },
    });
    const input = lines(of(ARGENTINA), of('900100250'));
    const folder = ownFolder('body.notification_url');
    const verdicts = (out: string) =>
      (JSON.parse(out) as { merchants: { merchant_id: string; verdicts: { verdict: string }[] }[] }).merchants.map(
        ({ merchant_id, verdicts }) => [merchant_id, verdicts.map(({ verdict }) => verdict)],
      ); // the command's shape
    const argv = ['assess', '-', '--json', '--site', 'MLA'];
    const expected = [
      [ARGENTINA, ['refused_here']],
      ['900100250', ['accepted']],
    ];
    expect(verdicts((await puente([...argv, '--folder', folder], { input })).out)).toEqual(expected);
    expect(verdicts((await puente(argv, { input, env: { PUENTE_MAPPINGS_FOLDER: folder } })).out)).toEqual(expected);
  });

  test('too little is exit code 4, as JSON from standard input', async () => {
    const input = lines({ ...create, body: { amount: 1500 } });
    const { code, out } = await puente(['assess', '-', '--json', '--site', 'MLA'], { input });
    expect(JSON.parse(out)).toMatchObject({
      verdict: 'inconclusive',
      sums: { lines: 1, assessed: 1, shadowed: 1 },
      merchants: [{ merchant_id: 'unknown', verdicts: [{ verdict: 'accepted' }] }],
    });
    expect(code).toBe(4);
  });

  test.each([
    ['no such file', ['assess', 'nowhere.har'], 1, /nowhere.har can't be read \(ENOENT\)/],
    ['a site that is none', ['assess', '-', '--site', 'Argentina'], 2, /A site such as MLA/],
    ['replay against nothing', ['replay', '-'], 2, /--against/],
  ])('%s', async (_what, argv, code, said) => {
    const ran = await command(argv);
    expect(ran.err).toMatch(said);
    expect(ran.code).toBe(code);
  });

  test('fewer calls prove nothing, as many as a running Puente wants', () => {
    const defaults = parse(readFileSync(join(HOUSE, 'config', 'default.yaml'), 'utf8')) as {
      moves: { min_sample: number };
    }; // our file
    expect(readFileSync(join(HOUSE, 'src', 'ops', 'cli', 'assess.ts'), 'utf8')).toContain(
      `MIN_SAMPLE = ${defaults.moves.min_sample};`,
    );
  });
});

describe('a capture of a running Puente', () => {
  const run = (...argv: string[]) => command(argv, { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN });
  const bench = openForAll(() => startBench({ PUENTE_ROUTING_DEFAULT_STAGE: 'shadow' }));

  test('is switched on with a reason, exported, replayed, and switched off', async () => {
    const sell = () =>
      bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, {
        body: { amount: 1500, additional_info: { ticket_number: 'S1' } },
      });
    /** Evidence is written after the answer. */
    const recorded = (count: number) =>
      eventually(
        async () => (await bench.ops(`/api/exchanges?merchant=${ARGENTINA}`)).text.trim().split('\n').length,
        (lines) => lines === count + 2,
      );
    await sell();
    await recorded(1);
    const on = await run('capture', 'on', ARGENTINA, '--reason', 'before the move');
    expect(on).toMatchObject({ code: 0, out: expect.stringContaining('are captured from now on') });
    await sell();
    await recorded(2);
    const output = join(directory, 'export.jsonl');
    const exported = await run('capture', 'export', '--merchant', ARGENTINA, '--output', output);
    expect(exported).toMatchObject({ code: 0, out: '', err: expect.stringContaining(output) });
    const kept = readFileSync(output, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(kept).toMatchObject([
      { puente_capture: 1 },
      { messages: null },
      { messages: {} },
      { puente_capture_end: 2 },
    ]);
    const captured = await run('capture', 'export', '--captured');
    expect(captured.out.trim().split('\n')).toHaveLength(3);
    const same = await command(['replay', output, '--against', 'tables']);
    expect(same).toMatchObject({ code: 0, out: expect.stringContaining('Lines: 2 = 1 replayed + 1 left out') });
    expect(same.out).toContain('No change. Calls replayed: 1.');
    const doubtful = async (text: string) => {
      const { code, out } = await command(['replay', written('doubtful.jsonl', text), '--against', 'tables']);
      expect(out).not.toContain('No change');
      return [code, out.split('\n').filter((line) => line.startsWith('INCONCLUSIVE'))];
    };
    const [head = '', untold = '', told = '', end = ''] = readFileSync(output, 'utf8').trim().split('\n');
    expect(await doubtful([head, untold, '{"puente_capture_end":1}'].join('\n'))).toEqual([
      4,
      ['INCONCLUSIVE: no line was replayed.'],
    ]);
    expect(await doubtful([head, untold, untold, told, '{"puente_capture_end":3}'].join('\n'))).toEqual([
      4,
      ['INCONCLUSIVE: more lines were left out (2) than replayed (1).'],
    ]);
    expect(await doubtful([head, untold, told].join('\n'))).toEqual([4, ['INCONCLUSIVE: the file is not whole.']]);
    expect(await doubtful([head, '{"broken', told, end].join('\n'))).toEqual([
      4,
      ['INCONCLUSIVE: lines that could not be read: 1 of 2.'],
    ]);
    const mappings = join(directory, 'next');
    cpSync(join(HOUSE, 'mappings'), mappings, { recursive: true });
    const table = join(mappings, 'point', 'create.request.yaml');
    const text = readFileSync(table, 'utf8');
    writeFileSync(
      table,
      text.replace(
        '    to: body.config.point.ticket_number\n',
        '    to: body.description\n    sites: [MLA]\n    elsewhere: silent\n',
      ),
    );
    const other = await command(['replay', output, '--against', 'tables', '--mappings', mappings, '--json']);
    expect(JSON.parse(other.out)).toMatchObject({
      sums: { replayed: 1, changed: 1 },
      changes: [{ operation: 'point.create_intent', what: 'upstream', count: 1 }, { what: 'upstream' }],
    });
    expect(other.code).toBe(6);
    const folder = ownFolder('body.additional_info.ticket_number');
    const own = await command(['replay', output, '--against', 'tables', '--folder', folder, '--json']);
    expect(JSON.parse(own.out)).toMatchObject({ sums: { replayed: 1, changed: 1 } });
    const off = await run('capture', 'off', ARGENTINA, '--reason', 'it is enough');
    expect(off.code).toBe(0);
    await sell();
    await recorded(3);
    expect((await run('capture', 'export', '--captured')).out.trim().split('\n')).toHaveLength(3);
  });

  test('a refused export leaves no file', async () => {
    const output = join(directory, 'none.jsonl');
    const refused = await run('capture', 'export', '--merchant', 'marta', '--output', output);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('No merchant has marta') });
    expect(existsSync(output)).toBe(false);
  });
});
