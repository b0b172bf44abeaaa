/** The audit trail: who decided what and why, and the check of its hash chain. */
import { actionOf } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import { auditActions } from '../../proxy/audit.ts';
import { auditView } from '../api/fleet.ts';
import { chainView } from '../audit.ts';
import { type Content, type Html, html, says } from '../html.ts';
import { given, type Page, type Visit } from './kit.ts';
import { decisionTable, options, section } from './parts.ts';

export const auditPage: Page = {
  path: '/audit',
  async show(visit) {
    const { words, query } = visit;
    const { t } = words;
    const asked = given({ subject: query.subject, action: query.action });
    const { lines } = await visit.ask('GET /api/audit', auditView, { query: { ...asked, limit: 200 } });
    const content = html`${await chain(visit)}
<form class="filters" action="/audit" method="get">
<p><label for="subject">${t('audit.subject')}</label><input id="subject" name="subject" maxlength="200" value="${query.subject ?? ''}"></p>
<p><label for="action">${t('audit.action')}</label><select id="action" name="action">${options(actionsOf(words), query.action ?? '')}</select></p>
<p><button>${t('board.show')}</button></p></form>
${decisionTable(words, lines)}`;
    return { title: t('nav.audit'), content };
  },
};

function actionsOf(words: Words): (readonly [string, string])[] {
  const named = auditActions.map((action) => [action, actionOf(words, action)] as const);
  return [['', words.t('board.any')], ...named.toSorted((a, b) => a[1].localeCompare(b[1], words.language))];
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
  const { intact, lines, head, broken } = await ask('GET /api/audit/verify', chainView, { query: expected });
  const mark = head === null ? '' : html`<p>${t('chain.head')} <code>${head.sequence}:${head.hash}</code></p>`;
  if (intact)
    return html`<div class="notice good" role="status"><p><strong>${t('chain.intact', { count: lines })}</strong></p>${mark}</div>`;
  return html`<div class="notice bad" role="alert"><p><strong>${t('chain.broken', { sequence: broken?.sequence ?? 0 })}</strong></p><p>${says(words, broken?.reason ?? null, broken?.said ?? null)}</p>${mark}</div>`;
}
