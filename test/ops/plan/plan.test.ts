/** Files of merchants: plan, apply, drift and refusals, by the ops door. */
import { expect, it } from 'vitest';
import { PuenteError } from '../../../src/error.ts';
import { ANA, ARGENTINA, BEN, BRAZIL, CHILE, EVA, MEXICO, tokenOf, URUGUAY } from '../../kit.ts';
import { openForEach } from '../../open.ts';
import { auditsOf } from '../../proxy/http/till.ts';
import { messageOf, startMoves } from '../moves/kit.ts';
import { filesOn, resultsIn, stepsIn, whyOf } from './kit.ts';

/** What the failpoint of a test throws before a move is saved; null: nothing. */
let fault: (() => Error | null) | null = null;
const bench = openForEach(() => {
  fault = null;
  const failpoint = (name: string): void => {
    const error = name === 'stage.before_save' ? (fault?.() ?? null) : null;
    if (error !== null) throw error;
  };
  return startMoves({ PUENTE_OUTBOUND_ALLOW_PRIVATE: 'false' }, { failpoint });
});
const files = filesOn(bench);
const lines = () => auditsOf(bench.data_dir);
const settingsOf = async (merchant: string) => (await bench.as(ANA, 'GET', `/api/merchants/${merchant}`)).body;
const byHand = (merchant: string, change: Record<string, unknown>) => bench.notify(merchant, change);

const NEW = `merchants:
  - id: ${ARGENTINA}
    new: true
    name: Café Sur
    tags: [centro, wave-1]
    stage: shadow
  - id: "${BRAZIL}"
    new: true
    voucher: drop
`;

it('plans without a change, applies what the plan said line by line, and has nothing to do then', async () => {
  const plan = await files.plan(NEW);
  expect(stepsIn(plan)).toEqual([
    'make: name: the default → Café Sur; tags: the default → centro, wave-1',
    'make: legacy → shadow',
    'make: voucher preference: the default → drop',
  ]);
  expect(plan).toMatchObject({ changes: 3, refused: 0, last_applied: null, not_in_file: [] });
  expect([await lines(), (await bench.as(ANA, 'GET', '/api/merchants')).body]).toEqual([[], { merchants: [] }]);

  const applied = await files.apply(NEW);
  expect(resultsIn(applied)).toEqual(stepsIn(plan).map((step) => step.replace('make', 'made')));
  expect(applied).toMatchObject({ made: 3, not_made: 0 });
  expect(await settingsOf(ARGENTINA)).toMatchObject({ name: 'Café Sur', in_force: { qr: { stage: 'shadow' } } });

  const audit = (await bench.as(ANA, 'GET', '/api/audit')).body as {
    lines: { action: string; subject: string; who: string; reason: string; change: string; detail: object }[];
  };
  const [mark, ...made] = audit.lines.toReversed();
  const digest = plan.sha256.slice(0, 12);
  expect(mark).toMatchObject({
    ...{ action: 'file applied', subject: 'shops.yaml', who: 'ben', reason: 'a test applies it' },
    change: `shops.yaml (sha256 ${digest}): 2 merchants, 3 changes`,
  });
  expect(made.map(({ action, change }) => [action, change])).toEqual(
    plan.merchants
      .flatMap(({ steps }) => steps)
      .map(({ what, changes }) => [
        what === 'move' ? 'stage' : 'merchant settings',
        `${changes.join('; ')}; from the file shops.yaml (sha256 ${digest})`,
      ]),
  );
  for (const line of made)
    expect(line).toMatchObject({
      who: 'ben',
      reason: 'a test applies it',
      detail: { sha256: plan.sha256, plan: plan.plan },
    });

  const again = await files.plan(NEW);
  expect([stepsIn(again), again.changes, again.last_applied]).toEqual([
    [],
    0,
    expect.objectContaining({ who: 'ben', file: 'shops.yaml', sha256: plan.sha256 }),
  ]);
  expect(await files.apply(NEW)).toMatchObject({ made: 0, not_made: 0 });
  expect((await lines()).length).toBe(4);
  expect((await bench.as(ANA, 'GET', '/api/audit/verify')).body).toMatchObject({ intact: true });
});

it('a merchant or unit that was never seen is refused with what is near it, and nothing of it is changed', async () => {
  await byHand(ARGENTINA, { name: 'Café Sur' });
  const near = `${ARGENTINA.slice(0, -1)}9`;
  const text = `merchants:\n  - {id: ${near}, name: Mistyped}\n  - {id: ${ARGENTINA}, stage: canary, units_in: [point:NOBODY]}\n`;
  const plan = await files.plan(text);
  expect(plan).toMatchObject({ changes: 0, refused: 2 });
  const [one, two] = [whyOf(plan, [0, 0]), whyOf(plan, [1, 0])];
  expect(one).toBe(
    `The merchant ${near} was never seen: no call, no sale, no setting. Nothing was changed. Near it: ${ARGENTINA} (Café Sur). If it is new, write new: true beside its id.`,
  );
  expect(two).toContain('The unit point:NOBODY of 700100200 was never seen');
  expect(await files.apply(text)).toMatchObject({ made: 0, not_made: 2 });
  expect((await settingsOf(near)) as object).toMatchObject({ revision: 0, name: null });
});

it('shows drift: what was changed by hand since the last apply, apart from what the file changes', async () => {
  await files.apply(NEW);
  await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, { reason: 'tills report errors' });
  await byHand(ARGENTINA, { name: 'Café Norte', dialect: 'point_integration_wh' });
  await byHand(BRAZIL, { voucher: 'refuse' });
  await byHand(BRAZIL, { voucher: 'drop' });
  const text = NEW.replace('centro, wave-1', 'centro');
  const plan = await files.plan(text);
  expect(stepsIn(plan)).toEqual([
    'make: name: Café Norte → Café Sur; tags: centro, wave-1 → centro',
    'make: legacy → shadow',
  ]);
  const [settings, move] = plan.merchants[0]?.steps ?? [];
  expect(settings?.drift).toMatch(
    /^changed by operator at 20.*Z, after the last apply: name: Café Sur → Café Norte, form of Point notices: /,
  );
  expect(move?.drift).toMatch(/^changed by ben at 20.*Z, after the last apply: rolled back: shadow → legacy$/);
  expect(plan.merchants[0]?.not_in_file).toEqual([{ setting: 'dialect', value: 'point_integration_wh' }]);

  expect(resultsIn(await files.apply(text))).toEqual(stepsIn(plan).map((step) => step.replace('make', 'made')));
  expect(await settingsOf(ARGENTINA)).toMatchObject({
    ...{ name: 'Café Sur', tags: ['centro'], in_force: { qr: { intended: 'shadow' } } },
    settings: { dialect: { value: 'point_integration_wh' } },
  });
  // A difference that only the file makes is no drift.
  const edited = await files.plan(text.replace('Café Sur', 'Café del Sur').replace('stage: shadow', 'stage: legacy'));
  expect(edited.merchants[0]?.steps.map(({ drift }) => drift)).toEqual([null, null]);
  // And what was changed by hand and back is none, either.
  await byHand(BRAZIL, { voucher: 'refuse' });
  await byHand(BRAZIL, { voucher: 'drop' });
  const other = await files.plan(text.replace('voucher: drop', 'voucher: refuse'));
  expect(other.merchants[1]?.steps.map(({ drift }) => drift)).toEqual([null]);
});

it('a drifted step that an apply leaves unmade stays drift, and what a file made is compared from that on', async () => {
  await files.apply(NEW);
  await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, { reason: 'tills report errors' });
  // An apply that names the merchant can't make its move, and changes another one.
  const text = NEW.replace('stage: shadow', 'stage: canary\n    share: 5').replace('voucher: drop', 'voucher: refuse');
  expect(resultsIn(await files.apply(text))).toEqual([
    'refused: legacy → canary at 5 %',
    'made: voucher preference: drop → refuse',
  ]);
  const drifts = async (of: string) =>
    (await files.plan(of)).merchants.map(({ steps }) => steps.map(({ drift }) => drift));
  const back = expect.stringMatching(/^changed by ben at .* rolled back: shadow → legacy$/);
  expect(await drifts(text)).toEqual([[back], []]);
  expect(await drifts(NEW.replace('voucher: drop', 'voucher: refuse'))).toEqual([[back], []]);
  // A setting that a file made beside a refused step has drifted when it is changed by hand later.
  await files.apply(text.replace('Café Sur', 'Café Uno'));
  await byHand(ARGENTINA, { name: 'Café Dos' });
  const [[name, move] = []] = await drifts(text.replace('Café Sur', 'Café Uno'));
  expect([name, move]).toEqual([expect.stringContaining('name: Café Uno → Café Dos'), back]);
});

it('deletes nothing that the file does not name: merchants and settings are listed, and stay', async () => {
  await byHand(MEXICO, { name: 'Tacos Norte', capture: true });
  await byHand(ARGENTINA, { tags: ['centro'], notice_secret: 'a-secret-of-the-shop' });
  const text = `merchants: [{id: ${ARGENTINA}, name: Café}]`;
  const plan = await files.plan(text);
  expect(plan.not_in_file).toEqual([{ merchant_id: MEXICO, name: 'Tacos Norte', stage: 'legacy' }]);
  expect(plan.merchants[0]?.not_in_file).toEqual([
    { setting: 'tags', value: '["centro"]' },
    { setting: 'notice_secret', value: 'set' },
  ]);
  await files.apply(text);
  expect(await settingsOf(MEXICO)).toMatchObject({ name: 'Tacos Norte', revision: 1 });
  expect(await settingsOf(ARGENTINA)).toMatchObject({ name: 'Café', tags: ['centro'], notice_secret: 'set' });
});

it('refuses a move that is refused by hand, with the same sentences, and makes the rest', async () => {
  const text = `merchants:
  - {id: ${ARGENTINA}, new: true, notice_url: "https://shop.example/notices?key=k3y", stage: canary, share: 5}
  - {id: ${BRAZIL}, new: true, stage: shadow}
  - {id: ${CHILE}, new: true, stage: canary}
`;
  const plan = await files.plan(text);
  expect(plan).toMatchObject({ changes: 2, refused: 2 });
  expect(stepsIn(plan)).toEqual([
    'make: notice URL: the default → https://shop.example/…?…',
    'refused: legacy → canary at 5 %',
    'make: legacy → shadow',
    'refused: to canary',
  ]);
  expect(JSON.stringify(plan)).not.toContain('k3y');
  expect(whyOf(plan, [2, 0])).toContain('A canary needs units');
  const applied = await files.apply(text);
  expect(applied).toMatchObject({ made: 2, not_made: 2 });
  const refused = await bench.move({ stage: 'canary', share: 5 }, BEN);
  expect([refused.status, messageOf(refused).replaceAll('\n', ' ')]).toEqual([400, whyOf(applied, [0, 1])]);
  // The judgement before was that of the merchant with the URL that the file gives it.
  expect(whyOf(plan, [0, 1])).toBe(whyOf(applied, [0, 1]));
  expect(await settingsOf(BRAZIL)).toMatchObject({ in_force: { qr: { stage: 'shadow' } } });
  // An approver may override missing evidence, as by hand; an operator may not.
  expect((await files.plan(text, { override: true })).merchants[0]?.steps[0]).toMatchObject({
    outcome: 'refused',
    why: expect.arrayContaining(['Overriding missing evidence needs the role approver, and ben is operator.']),
  });
});

it('refuses an apply when anything has changed since the plan, and changes nothing', async () => {
  const { plan } = await files.plan(NEW);
  await byHand(BRAZIL, { capture: true });
  const before = await lines();
  const late = await files.tried(NEW, { plan });
  const now = (await files.plan(NEW)).plan;
  expect([late.status, messageOf(late)]).toEqual([
    409,
    `Something has changed since the plan ${plan}: it is ${now} now, and nothing was applied. Look at the plan again.`,
  ]);
  expect(await lines()).toEqual(before);
  expect((await files.tried(`${NEW}# another text\n`, { plan: now })).status).toBe(409);
  expect((await files.tried(NEW, { plan: now, override: true }, EVA)).status).toBe(409);
  expect((await files.tried(NEW, { plan: now })).status).toBe(200);
});

it('says what was made and what was not when it is cut short, and goes on the next time', async () => {
  const text = `merchants:\n${[ARGENTINA, BRAZIL, MEXICO].map((id) => `  - {id: ${id}, new: true, name: Shop ${id}, stage: shadow}\n`).join('')}`;
  let saves = 0;
  fault = () => (++saves === 2 ? new PuenteError('store_failed', 'the disk is full') : null);
  const cut = await files.apply(text);
  expect(cut).toMatchObject({ made: 3, not_made: 3 });
  expect(cut.merchants.map(({ steps }) => steps.map(({ result }) => result))).toEqual([
    ['made', 'made'],
    ['made', 'stopped'],
    ['stopped', 'stopped'],
  ]);
  expect(whyOf(cut, [1, 1])).toContain('Puente failed here');
  expect(whyOf(cut, [2, 0])).toContain('Not reached');
  fault = null;
  expect(stepsIn(await files.plan(text))).toEqual([
    'make: legacy → shadow',
    `make: name: the default → Shop ${MEXICO}`,
    'make: legacy → shadow',
  ]);
  expect(await files.apply(text)).toMatchObject({ made: 3, not_made: 0 });
  expect(await files.plan(text)).toMatchObject({ changes: 0 });
});

it('a change by hand in the middle is a race of that merchant alone', async () => {
  const text = `merchants:\n${[ARGENTINA, BRAZIL].map((id) => `  - {id: ${id}, new: true, stage: shadow}\n`).join('')}`;
  fault = () => {
    fault = null;
    return new PuenteError('conflict', {
      text: 'It was changed.',
      said: { code: 'refusal.changed', facts: { merchant: ARGENTINA, expected: 0 } },
    });
  };
  const applied = await files.apply(text);
  expect(resultsIn(applied)).toEqual(['refused: legacy → shadow', 'made: legacy → shadow']);
  expect(whyOf(applied, [0, 0])).toContain('is not at revision 0 any more');
});

it('sets kinds first that get a stage of their own, and never takes a kind to a stage on the way', async () => {
  await bench.move({ stage: 'shadow' });
  const text = `merchants: [{id: ${ARGENTINA}, stage: legacy, kinds: {qr: {stage: shadow}}}]`;
  expect(stepsIn(await files.plan(text))).toEqual([
    'make: QR: stays where it is, now by a stage of its own',
    'make: shadow → legacy; devices: shadow → legacy; intents: shadow → legacy',
  ]);
  await files.apply(text);
  const follows = `merchants: [{id: ${ARGENTINA}, stage: shadow, kinds: {qr: {stage: follow}}}]`;
  expect(stepsIn(await files.plan(follows))).toEqual([
    'make: legacy → shadow; devices: legacy → shadow; intents: legacy → shadow',
    'make: QR: follows its merchant again, where it is already',
  ]);
  expect(await files.apply(follows)).toMatchObject({ made: 2 });
  const qr = (await lines()).filter(({ detail }) => Object.hasOwn((detail.after ?? {}) as object, 'qr'));
  expect(qr).toEqual([]);
  expect(await files.plan(follows)).toMatchObject({ changes: 0 });
});

it('holds back the moves after one that is not made, and never one that only leads back', async () => {
  await bench.move({ stage: 'shadow' });
  const forward = `merchants: [{id: ${ARGENTINA}, stage: canary, share: 5, kinds: {qr: {stage: orders}}}]`;
  expect(stepsIn(await files.plan(forward))).toEqual([
    'refused: QR: shadow → orders',
    'held: shadow → canary at 5 %; devices: shadow → canary at 5 %; intents: shadow → canary at 5 %',
  ]);
  expect(await files.apply(forward)).toMatchObject({ made: 0, not_made: 2 });
  expect((await bench.stageOf()).stage).toBe('shadow');
  for (const more of ['kinds: {qr: {stage: orders}}', 'notice_url: "https://10.0.0.1/"']) {
    const back = `merchants: [{id: ${ARGENTINA}, stage: legacy, ${more}}]`;
    const steps = stepsIn(await files.plan(back));
    expect(steps).toEqual([expect.stringMatching(/^refused: /), 'make: shadow → legacy']);
    expect(resultsIn(await files.apply(back))).toEqual(steps.map((step) => step.replace('make', 'made')));
    expect((await bench.stageOf()).stage).toBe('legacy');
    await bench.move({ stage: 'shadow' });
  }
});

it('secrets come from elsewhere: compared for operators alone, tried as by hand, shown nowhere', async () => {
  const token = tokenOf(ARGENTINA);
  const text = `merchants:\n  - id: ${ARGENTINA}\n    new: true\n    notice_url: env:URL\n    notice_secret: file:secret.txt\n    credential: env:TOKEN\n`;
  const url = 'https://shop.example/notices?key=a-key-in-a-url';
  const secrets = { 'env:URL': url, 'file:secret.txt': 'the-secret-of-the-shop', 'env:TOKEN': token };
  const without = await bench.as(BEN, 'POST', '/api/plan', { file: 'shops.yaml', text });
  expect([without.status, messageOf(without)]).toEqual([
    400,
    expect.stringMatching(
      /^shops.yaml:4:17: the value of env:URL was not sent.*\nshops.yaml:5:20: the value of file:secret.txt .*\nshops.yaml:6:17: the value of env:TOKEN /,
    ),
  ]);
  const short = await bench.as(BEN, 'POST', '/api/plan', {
    file: 'shops.yaml',
    text,
    secrets: { ...secrets, 'file:secret.txt': 'short' },
  });
  expect(messageOf(short)).toContain(
    'shops.yaml:5:20: the value of file:secret.txt does not fit: Too small: expected string to have >=8',
  );
  const long = { ...secrets, 'file:secret.txt': 'x'.repeat(513) };
  expect(messageOf(await bench.as(BEN, 'POST', '/api/plan', { file: 'shops.yaml', text, secrets: long }))).toContain(
    'the value of file:secret.txt does not fit: Too big: expected string to have <=512',
  );
  const theirs = { ...secrets, 'env:TOKEN': tokenOf(BRAZIL) };
  const other = await files.plan(text, { secrets: theirs });
  expect(other.merchants[0]?.steps).toMatchObject([
    { outcome: 'refused', why: [expect.stringContaining(`is of merchant ${BRAZIL}`)] },
  ]);

  expect(stepsIn(await files.plan(text, { secrets }))).toEqual([
    'make: notice URL: the default → https://shop.example/…?…; notice secret: set anew or removed; credential: set anew or removed',
  ]);
  const applied = await files.apply(text, { secrets });
  expect(applied).toMatchObject({ made: 1 });
  expect(await files.plan(text, { secrets })).toMatchObject({ changes: 0 });
  const guessed = { ...secrets, 'file:secret.txt': 'a-guess-of-a-viewer' };
  expect((await files.plan(text, { secrets: guessed })).changes).toBe(1);
  const viewed = await files.plan(text, { secrets: guessed }, ANA);
  expect([viewed.changes, viewed.merchants[0]?.notes]).toEqual([
    0,
    [
      'notice URL: not compared, because that needs the role operator.',
      'notice secret: not compared, because that needs the role operator.',
      'credential: not compared, because that needs the role operator.',
    ],
  ]);
  const removed = text.replace('file:secret.txt', 'null').replace('env:URL', 'null');
  expect(await files.apply(removed, { secrets })).toMatchObject({ made: 1 });
  expect(await settingsOf(ARGENTINA)).toMatchObject({
    notice_secret: 'not set',
    credential: 'set',
    settings: { notice_url: { from: 'default' } },
  });
  const all = JSON.stringify([await lines(), applied, viewed, (await bench.as(ANA, 'GET', '/api/plan/export')).body]);
  for (const secret of ['a-key-in-a-url', 'the-secret-of-the-shop', token, 'a-guess-of-a-viewer'])
    expect(all).not.toContain(secret);
});

it('refuses a notice URL that the outbound guard refuses, and holds back the move after it', async () => {
  const text = `merchants: [{id: ${ARGENTINA}, new: true, notice_url: "https://10.0.0.1/", stage: shadow}]`;
  const plan = await files.plan(text);
  expect(stepsIn(plan)).toEqual(['refused: notice URL: the default → https://10.0.0.1/', 'held: legacy → shadow']);
  const refused = await byHand(ARGENTINA, { notice_url: 'https://10.0.0.1/' });
  expect(messageOf(refused)).toBe(whyOf(plan, [0, 0]));
});

it("a viewer's plan is that of an operator, who alone applies it", async () => {
  const [viewed, planned] = [await files.plan(NEW, {}, ANA), await files.plan(NEW)];
  expect(viewed).toEqual(planned);
  expect((await files.tried(NEW, { plan: viewed.plan }, ANA)).status).toBe(403);
  expect((await files.tried(NEW, { plan: viewed.plan })).status).toBe(200);
});

it('leaves the moves of a merchant to its ramp or bulk move until that has ended', async () => {
  await bench.move({ stage: 'shadow' });
  const ask = { merchants: [ARGENTINA], steps: [5, 100], soak_ms: 3_600_000, min_sales: 1, reason: 'week 1' };
  const ramp = (await bench.as(BEN, 'POST', '/api/ramps', ask)).body as { id: string };
  const text = `merchants: [{id: ${ARGENTINA}, name: Café, stage: legacy}]`;
  const plan = await files.plan(text);
  expect(stepsIn(plan)).toEqual(['make: name: the default → Café', 'refused: shadow → legacy']);
  expect(whyOf(plan, [0, 1])).toContain(`The ramp ${ramp.id} moves merchant ${ARGENTINA}.`);
  await bench.as(BEN, 'POST', `/api/ramps/${ramp.id}/cancel`, { reason: 'the file moves it' });
  expect(await files.plan(text)).toMatchObject({ refused: 0, changes: 2 });
});

it('says which brown-out is in force', async () => {
  await byHand(URUGUAY, { name: 'Panadería' });
  const until = new Date(Date.now() + 3_600_000).toISOString();
  await bench.as(EVA, 'POST', '/api/brownouts', {
    merchants: [URUGUAY],
    from: new Date().toISOString(),
    until,
    reason: 'a drill',
  });
  const [one] = (await files.plan(`merchants: [{id: ${URUGUAY}}]`)).merchants;
  expect(one?.notes).toEqual([expect.stringContaining(`A brown-out: legacy refuses its new work from`)]);
});

it('frees a merchant that was rolled back at once, and not when its ramp looks again', async () => {
  await bench.move({ stage: 'shadow' });
  const ask = { merchants: [ARGENTINA], steps: [50, 100], soak_ms: 600_000, min_sales: 5, reason: 'wave 1' };
  expect((await bench.as(BEN, 'POST', '/api/ramps', ask)).status).toBe(200);
  const text = `merchants: [{id: ${ARGENTINA}, stage: shadow}]`;
  expect((await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/rollback`, { reason: 'tills stand' })).status).toBe(
    200,
  );
  expect(stepsIn(await files.plan(text))).toEqual(['make: legacy → shadow']);
});

it('shows a viewer neither that a guessed notice URL is the stored one nor that it is not', async () => {
  await byHand(ARGENTINA, { notice_url: 'https://shop.example/notices?key=k3y' });
  const shownFor = async (person: { token: string }, key: string) => {
    const text = `merchants: [{id: ${ARGENTINA}, name: Café Sur, notice_url: "https://shop.example/notices?key=${key}"}]`;
    const { plan: digest, sha256: _file, ...view } = await files.plan(text, {}, person);
    return { digest, view };
  };
  const [right, wrong] = [await shownFor(ANA, 'k3y'), await shownFor(ANA, 'k4y')];
  expect(right.view).toEqual(wrong.view);
  expect(right.view.merchants[0]?.notes).toContain('notice URL: not compared, because that needs the role operator.');
  expect([right.digest, wrong.digest]).toEqual([
    (await shownFor(BEN, 'k3y')).digest,
    (await shownFor(BEN, 'k4y')).digest,
  ]);
});

it('the export is the file of what is there: its plan changes nothing, and secrets are not in it', async () => {
  await byHand(ARGENTINA, {
    ...{ name: 'true', tags: ['2026', 'centro'], dialect: 'point_integration_wh', capture: true, safety_stop: 'armed' },
    ...{ notice_url: 'https://shop.example/notices?key=k3y', notice_secret: 'a-secret-of-the-shop' },
    deprecation: {
      deprecated_at: Date.parse('2026-06-30T00:00:00Z'),
      sunset_at: null,
      link: 'https://shop.example/read',
    },
  });
  await bench.move({ stage: 'shadow' });
  await bench.move({ stage: 'shadow', kind: 'qr' });
  await byHand(BRAZIL, { name: 'Padaria "Sol"' });
  const exported = async (query = '') =>
    ((await bench.as(ANA, 'GET', `/api/plan/export${query}`)).body as { text: string }).text;
  const text = await exported();
  expect(await files.plan(text)).toMatchObject({ changes: 0, refused: 0, not_in_file: [] });
  const left = (await files.plan(text)).merchants.flatMap(({ not_in_file }) =>
    not_in_file.map(({ setting }) => setting),
  );
  expect(left).toEqual(['notice_url', 'notice_secret']);
  expect(text).not.toMatch(/k3y|a-secret/);
  expect(text.split('\n').slice(1).join('\n')).toBe(`
merchants:
  - id: "${ARGENTINA}"
    name: "true"
    tags:
      - "2026"
      - centro
    safety_stop: armed
    capture: true
    deprecation:
      deprecated_at: 2026-06-30T00:00:00.000Z
      link: https://shop.example/read
    dialect: point_integration_wh
    stage: shadow
    kinds:
      qr:
        stage: shadow
    # notice_url: it has one at https://shop.example/…?…, left out because it may contain a key
    # notice_secret: it has one, which is never shown; to set it from here, write env:NAME or file:PATH
  - id: "${BRAZIL}"
    name: Padaria "Sol"
`);
  expect(await exported(`?merchants=${BRAZIL}`)).not.toContain(ARGENTINA);
  expect((await bench.as(ANA, 'GET', '/api/plan/export?merchants=700100209')).status).toBe(404);
});
