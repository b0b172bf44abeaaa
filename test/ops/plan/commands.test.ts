/** `puente plan`, `plan export` and `apply`: every sentence in golden files, exit codes, references, confirmation; the audit page. */
import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadWords } from '../../../src/locales/words.ts';
import { html, saysAll } from '../../../src/ops/html.ts';
import type { PlanView } from '../../../src/ops/plan/plan.ts';
import { ANA, ARGENTINA, BEN, BRAZIL, CHILE, call, clockOf, EVA, MEXICO, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { inTerminal, keys } from '../cli/terminal.ts';
import { command } from '../moves/command.ts';
import { startMoves } from '../moves/kit.ts';

const NOON = Date.parse('2026-11-18T12:00:00Z');
let now = NOON;
const clock = clockOf(() => now);
const bench = openForAll(() => startMoves({}, { clock }));

const folder = mkdtempSync(join(tmpdir(), 'puente-plan-'));

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const as = (person: { token: string }, argv: string[], env: Record<string, string> = {}) =>
  command(argv, { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: person.token, ...env });
const puente = (...argv: string[]) => as(BEN, argv);
const WHY = ['--reason', 'wave 1'];
/** What a command prints is in this golden file. */
async function told(golden: string, ...argv: string[]) {
  const ran = await puente(...argv);
  const typed = `$ puente ${argv.join(' ').replaceAll(`${folder}/`, '')}\n`;
  await expect(typed + ran.out).toMatchFileSnapshot(join(import.meta.dirname, 'golden', `${golden}.txt`));
  return ran;
}

const SHOPS = `merchants:
  - id: ${ARGENTINA}
    new: true
    name: Café Sur
    tags: [centro]
    stage: shadow
  - id: ${BRAZIL}
    new: true
    stage: canary
    share: 5
    kinds:
      qr: {stage: shadow}
`;

it('tells a day of a file: plan, refused steps, apply, drift, nothing to do', async () => {
  await bench.notify(CHILE, { name: 'Panadería Cordillera' });
  const shops = file('shops.yaml', SHOPS);
  const planned = await told('plan', 'plan', shops);
  expect([planned.err, planned.code]).toEqual(['', 1]); // one is refused

  const applied = await told('apply', 'apply', shops, ...WHY, '--yes');
  expect([applied.err, applied.code]).toEqual(['', 1]);

  now = NOON + 3_600_000;
  await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, { reason: 'tills report errors' });
  now = NOON + 7_200_000;
  const calm = file('calm.yaml', SHOPS.slice(0, SHOPS.indexOf(`  - id: ${BRAZIL}`)));
  expect((await told('drift', 'plan', calm)).code).toBe(2);
  await told('drifted', 'plan', 'drift');

  expect((await puente('apply', calm, ...WHY, '--yes')).code).toBe(0);
  expect((await told('same', 'plan', calm)).code).toBe(0);
  expect((await as(ANA, ['plan', calm])).code).toBe(0);
  expect((await puente('plan', 'drift')).out).toContain('No merchant has drifted');
});

it('the digest is that of the file, also with a byte order mark', async () => {
  const text = `\uFEFFmerchants: [{id: ${ARGENTINA}}]\n`;
  const { out, err } = await puente('plan', file('marked.yaml', text));
  expect([err, out]).toEqual([
    '',
    expect.stringContaining(`sha256 ${createHash('sha256').update(text).digest('hex')}`),
  ]);
});

it('exports what is there, and that changes nothing', async () => {
  await bench.notify(MEXICO, { name: 'Tacos Norte', notice_secret: 'a-secret-of-the-shop' });
  const { out, code } = await told('export', 'plan', 'export', MEXICO);
  expect(code).toBe(0);
  const both = (...ids: string[]) => puente('plan', 'export', ...ids);
  expect((await both(MEXICO, CHILE)).out).toBe((await both(`${MEXICO},${CHILE}`)).out);
  expect((await both(MEXICO, CHILE)).out).toMatch(new RegExp(`${MEXICO}[^]*${CHILE}`));
  expect((await puente('plan', file('exported.yaml', out))).code).toBe(0);
});

describe('an apply', () => {
  const one = `merchants: [{id: ${MEXICO}, tags: [norte]}]\n`;

  it('is confirmed: without a terminal by --yes alone', async () => {
    const shops = file('one.yaml', one);
    for (const more of [[], ['--json']]) {
      const { code, err } = await puente('apply', shops, ...WHY, ...more);
      expect([err, code]).toEqual(['Nothing is applied: look at the plan, and repeat this with --yes.', 1]);
    }
    expect((await puente('plan', shops)).code).toBe(2);
  });

  it('is confirmed in a terminal, where Enter alone is no', { timeout: 120_000 }, async () => {
    const shops = file('one.yaml', one);
    const argv = [process.execPath, 'bin/puente.js', 'apply', shops, ...WHY];
    const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: BEN.token };
    const declined = inTerminal(argv, env);
    await declined.answer('Apply 1 change?', keys.enter);
    expect([await declined.ended(), declined.shown()]).toEqual([1, expect.stringContaining('Nothing is applied.')]);
    expect((await puente('plan', shops)).code).toBe(2);
    const agreed = inTerminal(argv, env);
    await agreed.answer('Apply 1 change?', 'y');
    expect([await agreed.ended(), agreed.shown()]).toEqual([0, expect.stringContaining('1 step made or proposed.')]);
    expect((await puente('plan', shops)).code).toBe(0);
    expect((await puente('merchants', 'set', MEXICO, '--tags', 'default', ...WHY)).code).toBe(0);
  });

  it('is of the plan that was reviewed, or of none', async () => {
    const shops = file('one.yaml', one);
    const reviewed = JSON.parse((await puente('plan', shops, '--json')).out) as PlanView; // the row's answer
    await bench.notify(MEXICO, { capture: true });
    const late = await puente('apply', shops, ...WHY, '--yes', '--plan', reviewed.plan);
    expect(late.err).toContain(`Something has changed since the plan ${reviewed.plan}`);
    expect(late.code).toBe(1);
    const again = JSON.parse((await puente('plan', shops, '--json')).out) as PlanView; // the row's answer
    const applied = await puente('apply', shops, ...WHY, '--yes', '--plan', again.plan, '--json');
    expect(JSON.parse(applied.out)).toMatchObject({ made: 1, not_made: 0, plan: again.plan });
    expect(applied.code).toBe(0);
  });

  it('needs the role operator', async () => {
    const { code, err } = await as(ANA, ['apply', file('one.yaml', one), ...WHY, '--yes']);
    expect([code, err]).toEqual([1, expect.stringContaining('needs the role operator')]);
  });
});

describe('secrets', () => {
  it('come from variables and from files beside the file', async () => {
    file('secret.txt', 'the-secret-of-the-shop\n');
    const text = `merchants: [{id: ${MEXICO}, notice_secret: "file:secret.txt", credential: "env:TOKEN"}]`;
    const shops = file('secrets.yaml', text);
    const without = await puente('plan', shops);
    expect([without.err, without.code]).toEqual(['env:TOKEN has no value: set the variable TOKEN.', 1]);
    const lost = file('lost.yaml', text.replace('secret.txt', 'lost.txt'));
    expect((await as(BEN, ['plan', lost], { TOKEN: tokenOf(MEXICO) })).err).toBe(
      "file:lost.txt can't be read: paths begin at the folder of the file.",
    );
    const applied = await as(BEN, ['apply', shops, ...WHY, '--yes'], { TOKEN: tokenOf(MEXICO) });
    expect([applied.err, applied.code]).toEqual(['', 0]);
    expect(applied.out).not.toMatch(/APP_USR|the-secret/);
    expect((await as(BEN, ['plan', shops], { TOKEN: tokenOf(MEXICO) })).code).toBe(0);
  });
});

it.each([
  [['plan'], "error: missing required argument 'file'"],
  [['plan', 'shops.yaml', '--al'], "error: unknown option '--al'"],
  [['plan', '/nowhere/shops.yaml'], 'name a YAML file of merchants'],
])('%j fails with 1, because 2 means changes', async (argv, says) => {
  const { code, err } = await puente(...argv);
  expect([code, err]).toEqual([1, expect.stringContaining(says)]);
});

it('other commands below it end wrong usage with 2, as all do', async () => {
  const { code, err } = await puente('plan', 'export', '--al');
  expect([code, err]).toEqual([2, expect.stringContaining('unknown option')]);
  expect((await puente('apply', 'shops.yaml')).code).toBe(2);
});

it('an error in the file names file, line and column', async () => {
  const { code, err } = await puente('plan', file('typo.yaml', `merchants:\n  - id: ${ARGENTINA}\n    stge: shadow\n`));
  expect([code, err]).toEqual([1, expect.stringMatching(/^typo\.yaml:3:5: stge is no field here; near it: stage/)]);
});

it('the audit page says it in words, in each language', async () => {
  const words = loadWords();
  const { body } = await bench.as(EVA, 'GET', '/api/audit?action=file%20applied&limit=1');
  const [line] = (body as { lines: { change: string; change_said: [] }[] }).lines;
  const digest = /sha256 (\w{12})/.exec(line?.change ?? '')?.[1];
  for (const [language, sentence] of [
    ['en', `secrets.yaml (sha256 ${digest}): 1 merchant, 1 change`],
    ['es', `secrets.yaml (sha256 ${digest}): 1 comercio, 1 cambio`],
    ['pt', `secrets.yaml (sha256 ${digest}): 1 lojista, 1 mudança`],
  ] as const)
    expect(String(html`${saysAll(words[language], line?.change ?? '', line?.change_said ?? [], '; ')}`)).toBe(sentence);
  const { ops_url } = bench.app;
  const door = await call(`${ops_url}/sign-in`, { headers: { accept: 'text/html' } });
  const form_token = /name="form_token" value="([0-9a-f]+)"/.exec(door.text)?.[1] ?? '';
  const signed = await call(`${ops_url}/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ form_token, token: EVA.token }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: ops_url, 'sec-fetch-site': 'same-origin' },
  });
  const cookie = String([signed.headers['set-cookie']].flat()[0]).split(';')[0] ?? '';
  const page = await call(`${ops_url}/audit`, { headers: { accept: 'text/html', cookie, 'accept-language': 'es' } });
  expect(page.text).toContain('archivo aplicado');
  expect(page.text).toContain(`del archivo secrets.yaml (sha256 ${digest})`);
});
