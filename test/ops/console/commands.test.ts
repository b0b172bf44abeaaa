/** Pages of commands that first show what they would do, and of the upkeep, in a real browser; each does what its command does. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../../chromium.ts';
import { ANA, ARGENTINA, BEN, BRAZIL, CHILE, DEVICE, EVA, MEXICO, POINT } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { startMoves } from '../moves/kit.ts';
import { openConsole } from './browser.ts';

const CREATE = `${POINT}/devices/${DEVICE}/payment-intents`;
/** Fields of the second form of a page. */
const ACT = '#found form';

describe.skipIf(!hasChromium)('the page of', () => {
  const bench = openForAll(() => startMoves({ PUENTE_MOVES_GATE: 'advise' }));
  beforeAll(async () => {
    await bench.notify(CHILE, { new: true, name: 'Sin caja' });
    for (const merchant of [ARGENTINA, BRAZIL, MEXICO]) await bench.till(`${POINT}/devices`, { merchant });
  });
  const ben = openForAll(() => openConsole(bench, BEN));
  const viewOf = async (merchant: string) =>
    (await bench.ops(`/api/merchants/${merchant}`)).body as {
      name: string | null;
      tags: string[];
      revision: number;
      notice_secret: string;
    }; // the API's shape
  const newest = async () =>
    ((await bench.ops('/api/audit?limit=1')).body as { lines: { action: string; who: string; reason: string }[] })
      .lines; // the API's shape

  it('backups lists those there are, and makes one now, with its reason in the audit trail', async () => {
    const { page, go, seriousFindings } = ben;
    await go('/backups');
    await page.getByText('No backup was made yet.').waitFor();
    await page.locator('#backup-reason').fill('before the upgrade');
    await page.getByRole('button', { name: 'Make a backup' }).click();
    await page.getByRole('status').getByText('The backup is made and proved.').waitFor();
    const { backups } = (await bench.ops('/api/backup')).body as { backups: { file: string; sha256: string }[] }; // the API's shape
    expect(backups).toHaveLength(1);
    const row = page.getByRole('row').filter({ hasText: backups[0]?.file ?? 'none' });
    expect(await row.innerText()).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\s+\d+\sKiB/);
    expect(await row.innerText()).toContain(backups[0]?.sha256);
    expect(await newest()).toMatchObject([{ action: 'backup', who: 'ben', reason: 'before the upgrade' }]);
    expect(await seriousFindings()).toEqual([]);
    const ana = await openConsole(bench, ANA);
    await ana.go('/backups');
    await ana.page.locator('#backup-reason').fill('I may not');
    await ana.page.getByRole('button', { name: 'Make a backup' }).click();
    await ana.page.getByRole('alert').getByText('ana is viewer', { exact: false }).waitFor();
    await ana.close();
    expect(((await bench.ops('/api/backup')).body as typeof Object & { backups: unknown[] }).backups).toHaveLength(1);
  });

  it('the doctor shows each check with its level and its repair, in the language of the page', async () => {
    const { page, go, seriousFindings } = ben;
    await go('/doctor');
    expect(await page.locator('tbody').count()).toBe(0);
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.locator('tbody').waitFor();
    const { findings } = (await bench.ops('/api/doctor')).body as {
      findings: { name: string; level: string; says: string; repair: string | null }[];
    }; // the API's shape
    expect(await page.locator('tbody tr').count()).toBe(findings.length);
    for (const name of ['schema', 'integrity', 'disk', 'write-ahead log', 'clock', 'ops door'])
      await page.getByRole('rowheader', { name, exact: true }).waitFor();
    // Nothing was ever sent with a token of this one.
    const row = page.getByRole('row').filter({ hasText: `token of ${CHILE}` });
    expect(await row.innerText()).toMatch(/There is none: its events and open sales/);
    const repairs = findings.flatMap(({ repair }) => repair?.match(/`(puente [a-z ]+)/)?.[1] ?? []);
    expect(repairs.length).toBeGreaterThan(0);
    for (const command of new Set(repairs)) await page.locator('td code', { hasText: command }).first().waitFor();
    expect(await seriousFindings()).toEqual([]);
    const es = await openConsole(bench, BEN, { locale: 'es' });
    await es.go('/doctor?check=true');
    await es.page.getByRole('rowheader', { name: 'registro de escritura anticipada' }).waitFor();
    await es.page.getByText('la última escritura se hizo').waitFor();
    await es.close();
    // As its command: a viewer is refused, because it reads the whole database and calls upstream.
    const ana = await openConsole(bench, ANA);
    expect(await ana.go('/doctor?check=true')).toBe(403);
    await ana.page.getByRole('alert').getByText('ana is viewer', { exact: false }).waitFor();
    await ana.close();
  });

  it('names and tags refuses what is no list, shows what would change, and changes that', async () => {
    const { page, go, seriousFindings } = ben;
    await go('/import');
    const look = async (text: string): Promise<void> => {
      await page.getByLabel('Content of the file').fill(text);
      await page.getByRole('button', { name: 'Show what would change' }).click();
    };
    await look('700100200 Café Sur');
    await page.getByRole('alert').getByText('The first line must name the columns').waitFor();
    // Nothing of a text is read that is too long, or that the second form would not have as it is.
    await look(`id,name\n${'a'.repeat(100_000)}`);
    await page.getByRole('alert').getByText('A page takes 100000 characters at most', { exact: false }).waitFor();
    await page.getByRole('alert').locator('code', { hasText: 'puente merchants import' }).waitFor();
    await look(`id,name\n${ARGENTINA},Café\u0007 Sur`);
    await page.getByRole('alert').getByText('The text contains control characters').waitFor();
    const mistyped = ARGENTINA.slice(0, -1);
    await look(`id,name\n${mistyped},Café Sur`);
    await page.getByRole('alert').getByText(`Near it: ${ARGENTINA}`).waitFor();
    await look(`id;name;tags\n${ARGENTINA};"Café; Sur";centro wave-1\n${BRAZIL};;`);
    await page.getByText('1 merchant of 2 would be changed.').waitFor();
    expect(await page.locator('#found tbody tr').innerText()).toMatch(/700100200\s+new\s+–\s+Café; Sur centro wave-1/);
    expect((await viewOf(ARGENTINA)).name).toBeNull();
    // What is made is what was shown, whatever stands in the first form meanwhile.
    await page.getByLabel('Content of the file').fill(`id,name\n${MEXICO},Tortas`);
    await page.locator('#act-reason').fill('names of the chain');
    expect(await seriousFindings()).toEqual([]);
    await page.getByRole('button', { name: 'Set them' }).click();
    await page.locator('#done').getByText('1 of 2 merchants is changed.').waitFor();
    expect(await viewOf(ARGENTINA)).toMatchObject({ name: 'Café; Sur', tags: ['centro', 'wave-1'] });
    expect((await viewOf(MEXICO)).name).toBeNull();
    expect(await newest()).toMatchObject([{ who: 'ben', reason: 'names of the chain' }]);
    await look(`- id: "${ARGENTINA}"\n  name: Café; Sur\n`);
    await page.getByText('0 merchants of 1 would be changed.').waitFor();
    expect(await page.locator(ACT).count()).toBe(0);
    await look(`\n\n- id: "${ARGENTINA}"\n  name: Café; Sur\n`);
    expect(await page.getByLabel('Content of the file').inputValue()).toMatch(/^\n\n- id/);
    // A chosen file is read into the field, and sent as if it were pasted.
    const choose = (name: string, text: string, encoding: BufferEncoding = 'utf8') =>
      page
        .getByLabel('Or choose the file')
        .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text, encoding) });
    const field = page.getByLabel('Content of the file');
    await choose('shops.csv', `\uFEFFid;name\n${ARGENTINA};Café Norte\n`);
    await expect.poll(() => field.inputValue()).toBe(`id;name\n${ARGENTINA};Café Norte\n`);
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByText('1 merchant of 1 would be changed.').waitFor();
    // A spreadsheet in Spanish or Portuguese writes Windows-1252, with the lines of Windows.
    await choose('excel.csv', `id;name\r\n${ARGENTINA};Café Sur\r\n${BRAZIL};São José`, 'latin1');
    await expect.poll(() => field.inputValue()).toBe(`id;name\n${ARGENTINA};Café Sur\n${BRAZIL};São José`);
    await look(`id;name\n${ARGENTINA};Caf\uFFFD Sur`);
    await page.getByRole('alert').getByText('save the file as UTF-8', { exact: false }).waitFor();
    // While a file is read, and when it can't be, the text before it is not sent.
    await field.fill(`id,name\n${ARGENTINA},Other`);
    await page.evaluate('File.prototype.slice = () => { throw new Error("The file is gone"); }');
    await choose('gone.csv', 'id,name\n');
    await expect
      .poll(() => page.evaluate('document.querySelector("#chosen").validationMessage'))
      .toContain('The file is gone');
    await page.getByRole('button', { name: 'Show what would change' }).click();
    expect(await field.inputValue()).toBe('');
    await go('/import');
    await choose('long.csv', `id,name\r\n${'漢'.repeat(400_000)}`);
    await expect.poll(async () => (await field.inputValue()).length).toBe(100_001);
    await page.getByRole('button', { name: 'Show what would change' }).click();
    await page.getByRole('alert').getByText('A page takes 100000 characters at most', { exact: false }).waitFor();
    expect(ben.problems).toEqual([]);
    // Who may not import is refused before the text is read.
    const ana = await openConsole(bench, ANA);
    await ana.go('/import');
    await ana.page.getByLabel('Content of the file').fill('no list at all');
    await ana.page.getByRole('button', { name: 'Show what would change' }).click();
    await ana.page.getByRole('alert').getByText('ana is viewer', { exact: false }).waitFor();
    await ana.close();
  });

  it('a file of merchants shows the plan of the pasted text, and applies that plan alone', async () => {
    const { page, go, seriousFindings } = ben;
    await go('/plan');
    const look = async (text: string): Promise<void> => {
      await page.getByLabel('Content of the file').fill(text);
      await page.getByRole('button', { name: 'Show the plan' }).click();
    };
    await look('merchants:\n  - id: "700100300"\n    stagee: shadow\n');
    await page.getByRole('alert').getByText('merchants.yaml:3:5').waitFor();
    // A chosen file gives its name, too.
    const buffer = Buffer.from('merchants:\n  - stagee: shadow\n');
    await page.getByLabel('Or choose the file').setInputFiles({ name: 'norte.yaml', mimeType: 'text/yaml', buffer });
    await expect.poll(() => page.locator('#file').inputValue()).toBe('norte.yaml');
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.getByRole('alert').getByText('norte.yaml:2:5').waitFor();
    await go('/plan');
    // A text that can't be read is not searched for references.
    await look('merchants:\n  - {id: "1", credential: env:SOL_SECRET}\n  - [\n');
    await page.getByRole('alert').getByText('this is not valid YAML').first().waitFor();
    expect(await page.getByLabel('Value of').count()).toBe(0);
    const text = `merchants:
  - id: "${BRAZIL}"
    name: Padaria Sol
    notice_secret: env:SOL_SECRET
    stage: shadow
  - id: "${ARGENTINA.slice(0, -1)}"
    stage: shadow
`;
    await look(text);
    await page.getByRole('alert').getByText('env:SOL_SECRET').waitFor();
    const secret = 'a-secret-of-this-test';
    await page.getByLabel('Value of env:SOL_SECRET').fill(secret);
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.locator('#found').getByText('2 changes, 1 refused.').waitFor();
    const rows = page.locator('#found tbody tr');
    expect(await rows.nth(0).innerText()).toMatch(/name: the default → Padaria Sol[\s\S]+would be made/);
    expect(await rows.nth(1).innerText()).toMatch(/legacy → shadow[\s\S]+would be made/);
    expect(await rows.nth(2).innerText()).toMatch(/refused[\s\S]+Near it: 700100200/);
    expect(await page.content()).not.toContain(secret);
    expect(await bench.stageOf(BRAZIL)).toMatchObject({ revision: 0 });
    // The digest is that of the command, whatever ends the lines and the text.
    const typed = text.trimEnd().replaceAll('\n', '\r\n');
    const plan = (
      await bench.as(BEN, 'POST', '/api/plan', {
        file: 'merchants.yaml',
        text: typed,
        secrets: { 'env:SOL_SECRET': secret },
      })
    ).body;
    await page.locator('#found code', { hasText: (plan as { plan: string }).plan }).waitFor();
    expect(await seriousFindings()).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.setViewportSize({ width: 1280, height: 720 });
    const apply = async (): Promise<void> => {
      await page.locator(ACT).getByLabel('Value of env:SOL_SECRET').fill(secret);
      await page.locator('#act-reason').fill('as reviewed');
      await page.getByRole('button', { name: 'Apply this plan' }).click();
    };
    // Something changed since: nothing is made.
    const { revision } = await bench.stageOf(BRAZIL);
    await bench.as(BEN, 'PUT', `/api/merchants/${BRAZIL}`, { tags: ['norte'], reason: 'by hand', revision });
    await apply();
    await page.getByRole('alert').waitFor();
    expect(await viewOf(BRAZIL)).toMatchObject({ name: null, notice_secret: 'not set' });
    await page.getByLabel('Value of env:SOL_SECRET').fill(secret);
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.locator('#found').getByText('2 changes, 1 refused.').waitFor();
    await apply();
    await page.locator('#done').getByText('2 steps are made or proposed, 1 not made.').waitFor();
    expect(await page.locator('#done tbody tr').nth(2).innerText()).toContain('refused');
    expect(await viewOf(BRAZIL)).toMatchObject({ name: 'Padaria Sol', notice_secret: 'set' });
    expect((await bench.stageOf(BRAZIL)).stage).toBe('shadow');
    const [line] = (
      (await bench.ops('/api/audit?action=file+applied')).body as { lines: { detail: { sha256: string } }[] }
    ).lines; // the API's shape
    expect(line?.detail.sha256).toBe(createHash('sha256').update(text).digest('hex'));
  });

  it('a file of merchants begins with those there are, which changes nothing; a viewer plans and may not apply', async () => {
    const ana = await openConsole(bench, ANA);
    const { page, go } = ana;
    await go('/plan');
    await page.getByRole('link', { name: 'Begin with the merchants as they are now' }).click();
    const exported = await page.getByLabel('Content of the file').inputValue();
    expect(exported).toContain('Padaria Sol');
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.locator('#found').getByText('Nothing would change.').waitFor();
    await page.locator('#found').getByText('Applying this changes nothing.', { exact: false }).waitFor();
    await page.locator('#act-reason').fill('I may not');
    await page.getByRole('button', { name: 'Apply this plan' }).click();
    await page.getByRole('alert').getByText('ana is viewer', { exact: false }).waitFor();
    // Drift counts from an apply that changed nothing, too.
    await ben.go('/plan?export=true');
    await ben.page.getByRole('button', { name: 'Show the plan' }).click();
    await ben.page.locator('#act-reason').fill('drift counts from here');
    await ben.page.getByRole('button', { name: 'Apply this plan' }).click();
    await ben.page.locator('#done').getByText('0 steps are made or proposed, 0 not made.').waitFor();
    expect(await newest()).toMatchObject([{ action: 'file applied', who: 'ben', reason: 'drift counts from here' }]);
    await page.getByLabel('Content of the file').fill(exported.replace('Padaria Sol', 'Padaria'));
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.locator('#act-reason').fill('I may not');
    await page.getByRole('button', { name: 'Apply this plan' }).click();
    await page.getByRole('alert').getByText('ana is viewer', { exact: false }).waitFor();
    expect((await viewOf(BRAZIL)).name).toBe('Padaria Sol');
    await ana.close();
  });

  it('a file of merchants takes one as long as the API does, and refuses a longer one', async () => {
    const { page, go } = ben;
    await go('/plan');
    const filled = `# ${'é'.repeat(97_000)}\nmerchants:\n  - id: "${MEXICO}"\n    name: Tortas\n`;
    await page.getByLabel('Content of the file').fill(filled);
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.locator('#found').getByText('1 change, 0 refused.').waitFor();
    await page.getByLabel('Content of the file').fill(`# ${'a'.repeat(100_000)}\n${filled}`);
    await page.getByRole('button', { name: 'Show the plan' }).click();
    await page.getByRole('alert').getByText('100000', { exact: false }).waitFor();
  });

  it('evidence lists verdicts and what is in no table, of one merchant or all', async () => {
    const { page, go, seriousFindings } = ben;
    await bench.move({ stage: 'shadow', override: true }, EVA);
    await bench.till(CREATE, { body: { amount: 1500, colour: 'red' } });
    await expect
      .poll(async () => {
        await go('/evidence');
        return page.locator('#verdicts tbody tr').count();
      })
      .toBeGreaterThan(0);
    expect(await page.locator('#verdicts tbody tr').first().innerText()).toMatch(/point\.create_intent\s+accepted/);
    expect(await page.locator('#unknowns tbody tr').filter({ hasText: 'colour' }).innerText()).toContain('field');
    expect(await seriousFindings()).toEqual([]);
    await page.getByLabel('Merchant', { exact: true }).fill(MEXICO);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('No create was compared yet', { exact: false }).waitFor();
  });

  it('each meets no problem of its policy or its scripts', () => {
    expect(ben.problems).toEqual([]);
  });
});
