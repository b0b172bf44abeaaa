/** Small components that several pages share. */
import type { z } from 'zod';
import { actionOf } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import type { auditView } from '../api/fleet.ts';
import { rounded } from '../fields.ts';
import { type Content, type Html, html, type Row, says, saysAll, tableOf, timeOf } from '../html.ts';
import { linkTo, merchantPath, type Visit } from './kit.ts';
import { formToken } from './layout.ts';

const SPARK_WIDTH = 80;
const SPARK_HEIGHT = 18;

/** A coloured word, which has its full meaning without the colour. */
export function badge(kind: string, text: Content): Html {
  return html`<span class="badge ${kind}">${text}</span>`;
}

/** In whole milliseconds; in seconds from 10 s on. */
export function durationOf(words: Words, duration_ms: number): string {
  return duration_ms < 10_000 ? `${words.number(Math.round(duration_ms))} ms` : `${words.number(duration_ms / 1000)} s`;
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

export function framed(label: string, content: Html | null, none: string, kind = ''): Html {
  if (content === null) return html`<p class="none">${none}</p>`;
  return html`<div class="scroll ${kind}" role="region" aria-label="${label}" tabindex="0">${content}</div>`;
}

export function merchantLink(id: string, name: string | null): Html {
  return html`<a href="${merchantPath(id)}">${id}${name === null ? '' : ` (${name})`}</a>`;
}

/** Each leads to the merchants with it. */
export function tagLinks(tags: readonly string[]): Html[] {
  return tags.map((tag) => html`<a href="${linkTo('/', { tag })}">${tag}</a> `);
}

export function section(id: string, title: string, content: Content, lead: Content = null): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${lead === null ? '' : html`<p class="lead">${lead}</p>`}${content}</section>`;
}

/** Every change needs a reason. @param id unique on the page. */
export function reasonField({ words, sent }: Visit, id: string): Html {
  return html`<label for="${id}">${words.t('form.reason')}</label>
<input id="${id}" name="reason" type="text" minlength="3" maxlength="500" required value="${sent.reason ?? ''}" autocomplete="off">`;
}

export function changeForm(visit: Visit, path: string, content: Content, kind = ''): Html {
  return html`<form class="change ${kind}" action="${path}" method="post">${formToken(visit.form_token)}${content}</form>`;
}

export function hidden(name: string, value: string | number): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

export function options(pairs: readonly (readonly [value: string, text: string])[], chosen: string): Html[] {
  return pairs.map(
    ([value, text]) => html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`,
  );
}

type AuditLine = z.infer<typeof auditView>['lines'][number];

export function decisionTable(words: Words, lines: readonly AuditLine[]): Html {
  const rows = lines.map(({ sequence, at, who, action, subject, reason, said, detail, ...line }) => ({
    sequence: String(sequence),
    at: timeOf(words, at),
    who,
    action: actionOf(words, action),
    subject: subjectLink(action, subject),
    change: changeSaid(words, line),
    reason: said === null ? reason : says(words, reason, said),
    detail: detailOf(words, detail),
  }));
  return table(words, 'audit', words.t('merchant.decisions'), rows, words.t('audit.none'));
}

/** From what to what, in words. */
export function changeSaid(words: Words, { change, change_said }: Pick<AuditLine, 'change' | 'change_said'>): Content {
  return change_said.length === 0 ? null : saysAll(words, change, change_said, '; ');
}

/** Links to a merchant's page or the trace of a sale; a bulk move and a ramp have neither. */
export function subjectLink(action: string, subject: string): Content {
  if (/^(bulk move|ramp) /.test(action) && !/^\d+$/.test(subject)) return subject;
  if (/^\d{1,20}$/.test(subject)) return html`<a href="${merchantPath(subject)}">${subject}</a>`;
  return /^[0-9a-f-]{36}$/.test(subject)
    ? html`<a href="${linkTo('/trace', { id: subject })}">${subject}</a>`
    : subject;
}

/** The facts of an audit line, untranslated. */
export function detailOf({ t }: Words, detail: unknown): Html {
  return html`<details><summary>${t('audit.facts')}</summary><pre lang="en">${JSON.stringify(detail, null, 2)}</pre></details>`;
}
