/** The audit trail: who decided what and why, and the check of its hash chain. */
import { actionOf } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import { type AuditAction, auditActions } from '../../proxy/audit.ts';
import { type Content, type Html, html, says } from '../html.ts';
import { given, instantOf, type Page, type Visit } from './kit.ts';
import { decisionTable, field, restOf, section, unlessUnseen } from './parts.ts';

const SHOWN = 200;

export const auditPage: Page = {
  path: '/audit',
  async show(visit) {
    const { words, query } = visit;
    const { t } = words;
    const { merchant, subject, action, since, until } = query;
    const period = { since: instantOf(since), until: instantOf(until) };
    const filter = given({ merchant, subject, action, ...period, limit: SHOWN });
    const list = await unlessUnseen(
      words,
      visit.ask('GET /api/audit', { query: filter }),
      ({ lines }) => html`${restOf(words, lines, SHOWN)}${decisionTable(words, lines)}`,
    );
    const content = html`${await chain(visit)}
<form class="filters" action="/audit" method="get">
${field.whose(words, merchant)}
${field.input('subject', t('audit.subject'), subject, html` maxlength="200"`)}
${field.filter(words, 'action', t('audit.action'), actionsIn(words), (one) => actionOf(words, one), action)}
${field.period(words, query)}
<p><button>${t('board.show')}</button></p></form>
${list}`;
    return { title: t('nav.audit'), content };
  },
};

/** In the order of their texts. */
function actionsIn(words: Words): readonly AuditAction[] {
  const compared = new Intl.Collator(words.language).compare;
  return auditActions.toSorted((one, other) => compared(actionOf(words, one), actionOf(words, other)));
}

/** Verifies only on request, because that reads the whole chain. */
async function chain(visit: Visit): Promise<Html> {
  const { words, query } = visit;
  const { t } = words;
  const { sequence = '', hash = '' } = query;
  const form = html`<form class="change" action="/audit" method="get"><input type="hidden" name="verify" value="true">
<label for="sequence">${t('chain.sequence')}</label><input id="sequence" name="sequence" inputmode="numeric" value="${sequence}">
<label for="hash">${t('chain.hash')}</label><input id="hash" name="hash" maxlength="64" value="${hash}" autocomplete="off">
<button>${t('chain.verify')}</button></form>`;
  return section(
    'chain',
    t('chain.title'),
    html`${query.verify === 'true' ? await verdict(visit) : ''}${form}`,
    t('chain.lead'),
  );
}

async function verdict({ words, query, ask }: Visit): Promise<Content> {
  const { t } = words;
  const expected = given({ expect_sequence: query.sequence, expect_hash: query.hash });
  const { intact, lines, head, broken } = await ask('GET /api/audit/verify', { query: expected });
  const mark = head === null ? '' : html`<p>${t('chain.head')} <code>${head.sequence}:${head.hash}</code></p>`;
  if (intact)
    return html`<div class="notice good" role="status"><p><strong>${t('chain.intact', { count: lines })}</strong></p>${mark}</div>`;
  return html`<div class="notice bad" role="alert"><p><strong>${t('chain.broken', { sequence: broken?.sequence ?? 0 })}</strong></p><p>${says(words, broken?.reason ?? null, broken?.said ?? null)}</p>${mark}</div>`;
}
