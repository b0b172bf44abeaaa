/** Small components that several pages share. */
import { PuenteError, type Said } from '../../error.ts';
import { actionOf } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import type { AuditView } from '../audit.ts';
import { rounded } from '../fields.ts';
import { type Content, type Html, html, type Row, says, saysAll, saysEach, tableOf, timeOf } from '../html.ts';
import { namedAs } from '../seen.ts';
import { type Fields, linkTo, merchantPath, type Visit } from './kit.ts';
import { formToken } from './layout.ts';

const SPARK_WIDTH = 80;
const SPARK_HEIGHT = 18;

/** A coloured word, which has its full meaning without the colour. */
export function badge(kind: string, text: Content): Html {
  return html`<span class="badge ${kind}">${text}</span>`;
}

/** Counts over time as bars; the numbers beside it repeat them. @param label for screen readers. */
export function spark(counts: readonly number[], kind: string, label: string): Html {
  const top = Math.max(1, ...counts);
  const step = SPARK_WIDTH / Math.max(1, counts.length);
  const bars = counts.map((count, index) => {
    const height = count === 0 ? 0.6 : Math.max(1.5, (count / top) * SPARK_HEIGHT);
    return html`<rect x="${rounded(index * step, 1)}" y="${rounded(SPARK_HEIGHT - height, 1)}" width="${rounded(step - 0.8, 1)}" height="${rounded(height, 1)}"/>`;
  });
  return html`<svg class="spark ${kind}" role="img" aria-label="${label}" viewBox="0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}" width="${SPARK_WIDTH}" height="${SPARK_HEIGHT}">${bars}</svg>`;
}

/** A table in its own scrolling frame, cards on a phone; the sentence `none` without rows. @param prefix as for `tableOf`. */
export function table(words: Words, prefix: string, label: string, rows: readonly Row[], none = ''): Html {
  return framed(label, tableOf(words, prefix, rows, true), none, 'cards');
}

/** Scrolls by itself, also with the keyboard. @param content null: the sentence `none` stands in its place. */
export function framed(label: string, content: Html | null, none: string, kind = ''): Html {
  if (content === null) return html`<p class="none">${none}</p>`;
  return html`<div class="scroll ${kind}" role="region" aria-label="${label}" tabindex="0">${content}</div>`;
}

/** Sentences, one a line. @param said the code of each, or null. */
export function linesOf(words: Words, texts: readonly string[], said: readonly (Said | null)[]): Html {
  return html`<div class="lines">${texts.map((one, nth) => html`<div>${says(words, one, said[nth] ?? null)}</div>`)}</div>`;
}

/** @param below the path of a page about the merchant; its own without. */
export function merchantLink(id: string, name: string | null, below = ''): Html {
  return html`<a href="${merchantPath(id, below)}">${namedAs(id, name)}</a>`;
}

/** Each leads to the merchants with it. */
export function tagLinks(tags: readonly string[]): Html[] {
  return tags.map((tag) => html`<a href="${linkTo('/', { tag })}">${tag}</a> `);
}

/** Says that a list may be cut. @param most rows of it that are shown. */
export function restOf({ t }: Words, rows: readonly unknown[], most: number): Content {
  return rows.length < most ? null : html`<p class="notice warn">${t('list.rest', { count: most })}</p>`;
}

/** A list with the filters of its page, or what says in place of the list that its merchant was never seen. */
export async function unlessUnseen<Answer>(
  words: Words,
  answer: Promise<Answer>,
  shownOf: (answer: Answer) => Content,
): Promise<Content> {
  try {
    return shownOf(await answer);
  } catch (error) {
    if (!isUnseen(error)) throw error;
    return html`<p class="notice warn">${saysAll(words, error.message, error.said, error.between)}</p>`;
  }
}

/** A part of a page that is left out, without a word, where its merchant was never seen. @param none stands for the answer. */
export async function noneIfUnseen<Answer>(answer: Promise<Answer>, none: Answer): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!isUnseen(error)) throw error;
    return none;
  }
}

function isUnseen(error: unknown): error is PuenteError {
  return error instanceof PuenteError && error.code === 'not_found';
}

/** Links to the newest and to older ones of a list in pages. @param next `before` of the older ones; absent at the end. */
export function olderPages({ t }: Words, path: string, query: Fields, next: string | undefined): Content {
  if (next === undefined && query.before === undefined) return null;
  const link = (before: string, key: string): Html =>
    html`<a href="${linkTo(path, { ...query, before })}">${t(key)}</a>`;
  return html`<nav class="pager" aria-label="${t('board.pages')}">${query.before === undefined ? null : link('', 'sales.newest')}
${next === undefined ? null : link(next, 'sales.older')}</nav>`;
}

/** @param id also the anchor of the section, unique in the page. @param lead a sentence below the title. */
export function section(id: string, title: string, content: Content, lead: Content = null): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${lead === null ? '' : html`<p class="lead">${lead}</p>`}${content}</section>`;
}

/** Fields of forms, each with its label above. `more` are attributes; an `id` is needed where the name is not unique. */
export const field = {
  input: (name: string, label: string, value = '', more: Content = null, id = name): Html =>
    labeled(id, label, html`<input id="${id}" name="${name}" value="${value}"${more}>`),

  /** @param hint what an empty field means. */
  merchant: ({ t }: Words, value = '', id = 'merchant', hint = ''): Html =>
    field.input('merchant', t('board.merchant'), value, html` inputmode="numeric" placeholder="${hint}"`, id),

  /** Whom a list is about (`merchantsMeant`). */
  whose: ({ t }: Words, value = '', id = 'merchant'): Html =>
    field.input('merchant', t('board.merchant'), value, html` maxlength="64" placeholder="${t('form.whose')}"`, id),

  /** In UTC. */
  time: (name: string, label: string, value = '', more: Content = null, id = name): Html =>
    field.input(name, label, value, html` type="datetime-local"${more}`, id),

  period: ({ t }: Words, { since, until }: Fields): Html =>
    html`${field.time('since', t('form.since'), since)}${field.time('until', t('form.until'), until)}`,

  percent: (name: string, label: string, value = ''): Html =>
    field.input(name, label, value, html` type="number" min="0" max="100" step="0.01" inputmode="decimal"`),

  tick: (name: string, label: string, value = ''): Html =>
    html`<p class="tick"><input id="${name}" name="${name}" type="checkbox" value="true"${value === 'true' ? html` checked` : ''}><label for="${name}">${label}</label></p>`,

  /** @param hint below the label. */
  select: (name: string, label: string, pairs: Pairs, value = '', id = name, hint: Content = null): Html =>
    labeled(
      id,
      label,
      html`${hint === null ? null : html`<span class="small">${hint}</span>`}<select id="${id}" name="${name}">${options(pairs, value)}</select>`,
    ),

  /** Values that filter, each with its text, below one that filters nothing. */
  filter<Value extends string>(
    { t }: Words,
    name: string,
    label: string,
    values: readonly Value[],
    textOf: (value: Value) => string,
    value = '',
  ): Html {
    const pairs = values.map((one) => [one, textOf(one)] as const);
    return field.select(name, label, [['', t('board.any')], ...pairs], value);
  },
};

function labeled(id: string, label: string, control: Html): Html {
  return html`<p><label for="${id}">${label}</label>${control}</p>`;
}

/** Narrows a list to merchants, where nothing else narrows it. @param path of its page. */
export function whoseForm(words: Words, path: string, { merchant }: Fields): Html {
  return html`<form class="filters" action="${path}" method="get">
${field.whose(words, merchant)}
<p><button>${words.t('board.show')}</button></p></form>`;
}

/** Every change needs a reason. @param id unique on the page. */
export function reasonField({ words, sent }: Visit, id: string): Html {
  return html`<label for="${id}">${words.t('form.reason')}</label>
<input id="${id}" name="reason" type="text" minlength="3" maxlength="500" required value="${sent.reason ?? ''}" autocomplete="off">`;
}

/** A form that changes something: a POST with the token of the session. */
export function changeForm(visit: Visit, path: string, content: Content, kind = ''): Html {
  return html`<form class="change ${kind}" action="${path}" method="post">${formToken(visit.form_token)}${content}</form>`;
}

/** A form that asks for a reason alone. @param id of its field. @param more hidden fields. @param kind of the button. */
export function actForm(visit: Visit, path: string, id: string, label: string, kind = '', more: Content = null): Html {
  return changeForm(visit, path, html`${more}${reasonField(visit, id)}<button class="${kind}">${label}</button>`);
}

/** A field that the form sends and nobody fills in; operators can change it, so it is checked like any other. */
export function hidden(name: string, value: string | number): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

type Pairs = readonly (readonly [value: string, text: string])[];

/** @param chosen a value that is no option chooses none. */
export function options(pairs: Pairs, chosen: string): Html[] {
  return pairs.map(
    ([value, text]) => html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`,
  );
}

/** A message of HTTP, untranslated; a long path breaks between its names. @param body nothing is shown for null. */
export function messageBox(title: string, head: string, body: unknown): Html {
  const names = head.split(/(?<=\/)/).map((name, nth) => html`${nth === 0 ? null : html`<wbr>`}${name}`);
  const below = body === undefined || body === null ? '' : `\n\n${jsonText(body)}`;
  return html`<div><h3>${title}</h3><pre lang="en">${names}${below}</pre></div>`;
}

/** A text as it is, anything else as indented JSON. */
export function jsonText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

type AuditLine = Omit<AuditView, 'merchant_name'> & Partial<Pick<AuditView, 'merchant_name'>>;

/** Lines of the audit chain, in the given order. A reason that Puente wrote is in the reader's language. */
export function decisionTable(words: Words, lines: readonly AuditLine[]): Html {
  const rows = lines.map(
    ({ sequence, at, who, action, subject, merchant_name = null, reason, said, detail, ...line }) => ({
      sequence: String(sequence),
      at: timeOf(words, at),
      who,
      action: actionOf(words, action),
      subject: subjectLink(action, subject, merchant_name),
      change: changeSaid(words, line),
      reason: said === null ? reason : says(words, reason, said),
      detail: detailOf(words, detail),
    }),
  );
  return table(words, 'audit', words.t('merchant.decisions'), rows, words.t('audit.none'));
}

/** From what to what, in words. */
export function changeSaid(words: Words, { change, change_said }: Pick<AuditLine, 'change' | 'change_said'>): Content {
  return change_said.length === 0 ? null : saysEach(words, change, change_said, '; ');
}

/** Links to a merchant's page or the trace of a sale; a bulk move and a ramp have neither. */
export function subjectLink(action: string, subject: string, merchant_name: string | null = null): Content {
  if (/^(bulk move|ramp) /.test(action) && !/^\d+$/.test(subject)) return subject;
  if (/^\d{1,20}$/.test(subject)) return merchantLink(subject, merchant_name);
  return /^[0-9a-f-]{36}$/.test(subject)
    ? html`<a href="${linkTo('/trace', { id: subject })}">${subject}</a>`
    : subject;
}

/** The facts of an audit line, untranslated. */
function detailOf({ t }: Words, detail: unknown): Html {
  return html`<details><summary>${t('audit.facts')}</summary><pre lang="en">${jsonText(detail)}</pre></details>`;
}
