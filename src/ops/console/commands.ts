/** Commands that first show what they would do: the form, the preview, and the form that makes what was shown. */
import type { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import { type Content, code, type Html, html, says, timeOf, withCode } from '../html.ts';
import type { importAnswer } from '../merchants.ts';
import { shopsIn } from '../moves/typed-lists.ts';
import type { ApplyView } from '../plan/apply.ts';
import { LONGEST_TEXT } from '../plan/file.ts';
import type { PlanView } from '../plan/plan.ts';
import { namedAs } from '../seen.ts';
import { type Fields, type Form, linkTo, type Page, type Visit } from './kit.ts';
import { actForm, badge, changeForm, field, hidden, linesOf, merchantLink, table } from './parts.ts';

interface Command {
  path: string;
  /** Of its texts: `command.NAME_title`, `_lead`, `_look` and `_act`. */
  name: string;
  /** Of the button that makes it. */
  kind?: 'danger';
  /** Fields of the first form. @param from what was sent. */
  fields(visit: Visit, from: Fields): Promise<Html>;
  /** Changes nothing. @returns the preview, and what the second form asks for; null: there is nothing to do. */
  look(visit: Visit, sent: Fields): Promise<{ found: Html; next: Content }>;
  /** @returns what was done, or the path to redirect to. */
  act(visit: Visit, sent: Fields): Promise<Html | string>;
}

/** The second form sends the fields of the first as they were when the preview was made. */
function pageOf({ path, name, kind, fields, look, act }: Command): { page: Page; form: Form } {
  const here = ({ path: named }: Visit): string => path.replace(':id', encodeURIComponent(named.id ?? ''));
  const shown = async (visit: Visit, from: Fields, below: Content) => {
    const { t } = visit.words;
    const first = changeForm(
      visit,
      here(visit),
      html`${await fields(visit, from)}<button>${t(`command.${name}_look`)}</button>`,
    );
    const content = html`<p class="lead">${withCode(t(`command.${name}_lead`))}</p><section>${first}</section>${below}`;
    return { title: t(`command.${name}_title`, { ...visit.path }), content };
  };
  const page: Page = { path, show: (visit) => shown(visit, visit.sent, null) };
  return {
    page,
    form: {
      path,
      page,
      async send(visit, { form_token: _token, act: acts, ...sent }) {
        if (acts === 'true') {
          const done = await act(visit, sent);
          return typeof done === 'string' ? done : shown(visit, {}, html`<section id="done">${done}</section>`);
        }
        const { found, next } = await look(visit, sent);
        const kept = Object.entries(sent).flatMap(([one, value]) =>
          one.startsWith(SECRET) ? [] : [hidden(one, value)],
        );
        const label = visit.words.t(`command.${name}_act`);
        const second =
          next === null
            ? null
            : actForm(visit, here(visit), 'act-reason', label, kind, [hidden('act', 'true'), kept, next]);
        return shown(visit, sent, html`<section id="found">${found}${second}</section>`);
      },
    },
  };
}

/** A whole file: pasted, or chosen and then read into the field by the script of pages (`read-file.js`). */
function textField({ t }: Words, label: string, text: string, example: string): Html {
  return html`<label for="text">${label}</label>
<textarea id="text" class="message" name="text" rows="12" required spellcheck="false" placeholder="${example}">
${text}</textarea><div class="choice" hidden><label for="chosen">${t('command.choose_file')}</label> <input id="chosen" type="file"></div>`; // browsers leave out the first end of a line
}

/** @param too_long the message. @throws PuenteError bad_request for what is no text, or too much of it. */
function textOf(sent: Fields, too_long: 'file.long' | 'input.import_long'): string {
  const text = (sent.text ?? '').replaceAll('\r\n', '\n'); // as a browser ends the lines of a form
  if (text.length > LONGEST_TEXT) throw new PuenteError('bad_request', say(too_long, { most: LONGEST_TEXT }));
  // A browser sends others of them in the second form than it was sent.
  if (/[^\P{Cc}\t\r\n]/u.test(text)) throw new PuenteError('bad_request', say('input.plain_text', {}));
  return text;
}

// Names and tags of many merchants.

const importing = pageOf({
  path: '/import',
  name: 'import',
  async fields({ words }, { text = '', new: made }) {
    const { t } = words;
    return html`${textField(words, t('command.import_text'), text, 'id,name,tags\n700100200,Café Sur,centro wave-1')}<div class="target">${field.tick('new', t('command.import_new'), made)}</div>`;
  },
  async look(visit, sent) {
    const answer = await imported(visit, sent, true);
    return { found: importTable(visit.words, answer), next: answer.merchants.some(isChanged) ? [] : null };
  },
  act: async (visit, sent) => importTable(visit.words, await imported(visit, sent, false)),
});

type Imported = z.infer<typeof importAnswer>;

async function imported({ ask, permit }: Visit, sent: Fields, dry_run: boolean): Promise<Imported> {
  permit('POST /api/merchants/import');
  const { new: made, reason } = sent;
  const why = dry_run ? 'a preview, which stores nothing' : reason;
  const merchants = await shopsIn(textOf(sent, 'input.import_long'), null);
  return ask('POST /api/merchants/import', { body: { merchants, new: made === 'true', dry_run, reason: why } });
}

function isChanged({ result }: Imported['merchants'][number]): boolean {
  return result !== 'same';
}

function importTable(words: Words, { dry_run, merchants }: Imported): Html {
  const { t } = words;
  const label = ({ name, tags }: Imported['merchants'][number]['before']): string => [name ?? '–', ...tags].join(' ');
  const changed = merchants.filter(isChanged);
  const rows = changed.map((one) => ({
    merchant: merchantLink(one.merchant_id, one.before.name),
    result: badge('good', t(`imported.${one.result}`)),
    before: label(one.before),
    after: label(one),
  }));
  const sums = t(dry_run ? 'command.import_would' : 'command.import_done', {
    changed: changed.length,
    all: merchants.length,
  });
  return html`<p>${sums}</p>${table(words, 'imported', t('command.import_title'), rows)}`;
}

// A file of merchants: its plan, and the apply of that very plan.

const planning = pageOf({
  path: '/plan',
  name: 'plan',
  async fields(visit, fields) {
    const { file = 'merchants.yaml', text, override } = fields;
    const { t } = visit.words;
    const given = text ?? (visit.query.export === 'true' ? (await visit.ask('GET /api/plan/export')).text : '');
    const example = 'merchants:\n  - id: 700100200\n    name: Café Sur\n    stage: shadow';
    return html`<div class="target"><span><a href="/plan?export=true">${t('command.plan_export')}</a> · <a href="/drift">${t('drift.title')}</a></span></div>${textField(visit.words, t('command.plan_text'), given, example)}
<div class="target">${field.input('file', t('command.plan_file'), file, html` maxlength="120" required`)}${secretFields(visit, fields, 'look')}${field.tick('override', t('stage.override'), override)}</div>`;
  },
  async look(visit, sent) {
    const plan = await visit.ask('POST /api/plan', { body: planOf(sent) });
    const next = html`${hidden('plan', plan.plan)}<div class="target">${secretFields(visit, sent, 'act')}</div>`;
    const same = plan.changes === 0 ? html`<p class="notice">${visit.words.t('command.plan_same')}</p>` : null;
    return { found: html`${planned(visit.words, plan)}${same}`, next };
  },
  async act(visit, { plan, reason, ...sent }) {
    const answer = await visit.ask('POST /api/plan/apply', { body: { ...planOf(sent), plan, reason } });
    const { made, not_made, merchants } = answer;
    return html`<p role="status">${visit.words.t('command.plan_done', { made, not_made })}</p>${stepTable(visit.words, merchants, ({ result }) => result)}`;
  },
});

/** The name of the field with the value of a reference. The page never holds the value: each form asks for it. */
const SECRET = 'secret ';

/** A field for each reference that a value was given for, or that the plan was refused without. @param sent what was given. */
function secretFields({ words: { t }, refused }: Visit, sent: Fields, form: string): Html[] {
  const missing = (refused?.said ?? []).flatMap(({ code: wrong, facts }) =>
    wrong === 'file.no_secret' ? [String(facts.reference)] : [],
  );
  const label = (reference: string): string => t('command.plan_secret', { reference });
  const more = html` type="password" autocomplete="off"`;
  return [...new Set([...Object.keys(secretsIn(sent)), ...missing])].map((one, nth) =>
    field.input(SECRET + one, label(one), '', more, `${form}-secret-${nth}`),
  );
}

/** By reference, the values that a form sent. */
function secretsIn(sent: Fields): Record<string, string> {
  return Object.fromEntries(
    Object.entries(sent).flatMap(([name, value]) =>
      name.startsWith(SECRET) && value !== '' ? [[name.slice(SECRET.length), value]] : [],
    ),
  );
}

function planOf({ file, override, ...sent }: Fields) {
  return { file, text: textOf(sent, 'file.long'), secrets: secretsIn(sent), override: override === 'true' };
}

function planned(words: Words, { plan, changes, refused, merchants, last_applied: last, not_in_file }: PlanView): Html {
  const { t } = words;
  const applied =
    last && html`<p>${t('command.plan_last', { name: last.who, file: last.file })} ${timeOf(words, last.at)}</p>`;
  const notes = merchants.flatMap(({ merchant_id: id, name, notes: its, notes_said }) =>
    its.map(
      (one, nth) => html`<p class="notice">${namedAs(id, name)}: ${says(words, one, notes_said[nth] ?? null)}</p>`,
    ),
  );
  const left = [
    ...merchants.flatMap(({ merchant_id, name, not_in_file: its }) =>
      its.map(({ setting, value }) => ({
        merchant: merchantLink(merchant_id, name),
        what: html`${words.named(`setting.${setting}`, setting)}: ${code(value)}`,
      })),
    ),
    ...not_in_file.map(({ merchant_id, name, stage }) => ({
      merchant: merchantLink(merchant_id, name),
      what: code(stage),
    })),
  ];
  const rest = html`<details><summary>${t('command.plan_left', { count: left.length })}</summary>${table(words, 'left', t('command.plan_title'), left)}</details>`;
  return html`<p>${t('command.plan_sums', { changes, refused })} ${t('command.plan_digest')} ${code(plan)}</p>${applied}
${stepTable(words, merchants, ({ outcome }) => outcome)}${notes}${left.length === 0 ? null : rest}`;
}

type PlannedStep = PlanView['merchants'][number]['steps'][number];
type AppliedStep = ApplyView['merchants'][number]['steps'][number];

const STEP_BADGES: Readonly<Record<PlannedStep['outcome'] | AppliedStep['result'], string>> = {
  make: 'good',
  made: 'good',
  propose: 'warn',
  proposed: 'warn',
  waits: 'shadow',
  held: 'warn',
  refused: 'bad',
  stopped: 'bad',
};

function stepTable<Step extends Omit<PlannedStep, 'outcome'>>(
  words: Words,
  merchants: readonly { merchant_id: string; name: string | null; steps: readonly Step[] }[],
  stateOf: (step: Step) => keyof typeof STEP_BADGES,
): Html {
  const rows = merchants.flatMap(({ merchant_id, name, steps }) =>
    steps.map((step) => ({
      merchant: merchantLink(merchant_id, name),
      change: linesOf(words, step.changes, step.changes_said),
      because: step.drift === null ? words.t('command.plan_by_file') : says(words, step.drift, step.drift_said),
      state: badge(STEP_BADGES[stateOf(step)], words.t(`step.${stateOf(step)}`)),
      why: step.why.length === 0 ? null : linesOf(words, step.why, step.why_said),
    })),
  );
  return table(words, 'planned', words.t('command.plan_title'), rows, words.t('command.plan_none'));
}

// Forgetting a merchant, confirmed by its id.

const erasing = pageOf({
  path: '/merchants/:id/erase',
  name: 'erase',
  kind: 'danger',
  async fields({ words: { t }, ask, path: { id = '' } }, { drop_notices }) {
    const { name } = await ask('GET /api/merchants/:id', { path: { id } });
    return html`<div class="target">${merchantLink(id, name)}${field.tick('drop_notices', t('command.erase_notices'), drop_notices)}</div>`;
  },
  async look(visit, sent) {
    const { words, path } = visit;
    const { t } = words;
    const body = { drop_notices: sent.drop_notices === 'true' };
    const { holdings, in_the_way, in_the_way_said, backups } = await visit.ask('POST /api/merchants/:id/erase', {
      path: { id: path.id ?? '' },
      body,
    });
    const held = Object.entries(holdings).filter(([, count]) => count > 0);
    const rows = held.map(([kind, count]) => ({ what: t(`holding.${kind}`), rows: count }));
    const open = in_the_way.map(
      (one, nth) => html`<li class="blocked">${says(words, one, in_the_way_said[nth] ?? null)}</li>`,
    );
    const kept = html`<p class="notice warn">${t('command.erase_backups')} ${backups.map((file) => html`${code(file)} `)}</p>`;
    return {
      found: html`${table(words, 'held', t('command.erase_held'), rows, t('command.erase_settings'))}${backups.length === 0 ? null : kept}
${open.length === 0 ? null : html`<h3>${t('command.erase_open')}</h3><ul class="findings">${open}</ul>`}`,
      next:
        open.length > 0
          ? null
          : html`<div class="target">${field.input('confirm', t('command.erase_confirm'), '', html` required inputmode="numeric" autocomplete="off"`)}</div>`,
    };
  },
  async act(visit, { confirm = '', drop_notices, reason }) {
    const { id = '' } = visit.path;
    if (confirm.trim() !== id) throw new PuenteError('bad_request', say('refusal.not_confirmed', { merchant: id }));
    const body = { apply: true, drop_notices: drop_notices === 'true', reason };
    await visit.ask('POST /api/merchants/:id/erase', { path: { id }, body });
    return linkTo('/audit', { subject: id, done: 'erased' });
  },
});

const all = [importing, planning, erasing];
export const commandPages: readonly Page[] = all.map(({ page }) => page);
export const commandForms: readonly Form[] = all.map(({ form }) => form);
/** Forms that hold a whole file. */
export const fileForms: readonly string[] = [importing, planning].map(({ form }) => form.path);
