/** Lines of the audit trail, and of incidents, as a table. */
import type { z } from 'zod';
import { actionOf } from '../../locales/says.ts';
import type { Words } from '../../locales/words.ts';
import type { auditView } from '../api/audit.ts';
import { type Content, type Html, html } from './html.ts';
import { row, table, timeOf } from './parts.ts';
import { says } from './says.ts';
import { linkTo, merchantPath } from './visit.ts';

type AuditLine = z.infer<typeof auditView>['lines'][number];

export function decisionTable(words: Words, lines: readonly AuditLine[]): Html {
  const { t } = words;
  const rows = lines.map(({ sequence, at, who, action, subject, reason, said, detail }) =>
    row(
      sequence,
      timeOf(words, at),
      who,
      actionOf(words, action),
      subjectLink(action, subject),
      said === null ? reason : says(words, reason, said),
      detailOf(words, detail),
    ),
  );
  const head = ['sequence', 'at', 'who', 'action', 'subject', 'reason', 'detail'].map((key) => t(`audit.${key}`));
  return table(t('merchant.decisions'), head, rows, t('audit.none'));
}

/** A merchant's page, or the trace of a sale; a bulk move has neither. */
export function subjectLink(action: string, subject: string): Content {
  if (action.startsWith('bulk move')) return subject;
  if (/^\d{1,20}$/.test(subject)) return html`<a href="${merchantPath(subject)}">${subject}</a>`;
  return /^[0-9a-f-]{36}$/.test(subject)
    ? html`<a href="${linkTo('/trace', { id: subject })}">${subject}</a>`
    : subject;
}

/** The facts of a line as they were written. */
export function detailOf({ t }: Words, detail: unknown): Html {
  return html`<details><summary>${t('audit.facts')}</summary><pre lang="en">${JSON.stringify(detail, null, 2)}</pre></details>`;
}
