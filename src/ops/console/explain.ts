/** What the tables make of one message: pasted, or of a captured call; row by row, with the reason of each. */
import type { z } from 'zod';
import type { Words } from '../../locales/words.ts';
import { explainedKinds } from '../../mapping/explain-input.ts';
import type { capturedCallsView } from '../api/evidence.ts';
import type { explanationView } from '../api/tables.ts';
import type { callView } from '../api/trace.ts';
import { defined } from '../fields.ts';
import { type Content, type Html, html, says, timeOf, written } from '../html.ts';
import { type Fields, type Form, given, linkTo, type Page, type Visit } from './kit.ts';
import { badge, changeForm, field, jsonText, merchantLink, messageBox, section, table, unlessUnseen } from './parts.ts';

type Explanation = z.infer<typeof explanationView>;
type Call = z.infer<typeof callView>;

export const explainPage: Page = {
  path: '/explain',
  show: async (visit) => ({ title: visit.words.t('explainer.title'), content: await contentOf(visit, null) }),
};

/** Nothing is changed: the page is shown again with the explanation. */
export const explainForm: Form = {
  path: explainPage.path,
  page: explainPage,
  async send(visit, sent) {
    const explained = await visit.ask('POST /api/explain', { body: bodyOf(sent) });
    return { title: visit.words.t('explainer.title'), content: await contentOf({ ...visit, sent }, explained) };
  },
};

function bodyOf({ text = '', as, operation, status, merchant, site }: Fields): object {
  const { status: number, ...texts } = given(defined({ as, operation, status, merchant, site }));
  return { text, ...texts, ...(number === undefined ? {} : { status: Number(number) }) };
}

async function contentOf(visit: Visit, explained: Explanation | null): Promise<Html> {
  const { words, query } = visit;
  const picked = query.exchange === undefined ? {} : await messageOf(visit, query.exchange, Number(query.nth ?? -1));
  return html`<p class="lead">${words.t('explainer.lead')}</p>
${explained === null ? '' : resultOf(words, explained)}
${section('message', words.t('explainer.message'), formOf(visit, { ...given({ merchant: query.merchant }), ...picked, ...visit.sent }))}
${await captured(visit)}`;
}

function formOf(visit: Visit, sent: Fields): Html {
  const { t } = visit.words;
  const kinds = [
    ['', t('explainer.by_form')] as const,
    ...explainedKinds.map((one) => [one, t(`explained.${one}`)] as const),
  ];
  const input = (name: string, label: string, more: Content): Html =>
    field.input(name, label, sent[name], more, `explain-${name}`);
  return changeForm(
    visit,
    explainPage.path,
    html`<label for="explain-text">${t('explainer.text')}</label>
<textarea id="explain-text" class="message" name="text" rows="12" required spellcheck="false" placeholder="POST /point/integration-api/devices/…/payment-intents HTTP/1.1">${sent.text ?? ''}</textarea>
<div class="target">${field.select('as', t('explainer.kind'), kinds, sent.as, 'explain-as')}
${input('operation', t('explainer.operation'), html` placeholder="point.create_intent" maxlength="100"`)}
${input('status', t('explainer.status'), html` type="number" min="100" max="599" placeholder="409"`)}
${input('merchant', t('board.merchant'), html` inputmode="numeric" maxlength="20"`)}
${input('site', t('explainer.site'), html` placeholder="MLA" maxlength="3"`)}</div>
<button>${t('explainer.go')}</button>`,
  );
}

// A captured call as a message: what the till sent, or one of upstream's answers.

async function messageOf({ ask }: Visit, id: string, nth: number): Promise<Fields> {
  const { messages, merchant_id, operation } = await ask('GET /api/exchanges/:id', { path: { id } });
  if (messages === null) return {};
  const about = defined({ merchant: merchant_id ?? undefined, operation: operation ?? undefined });
  const upstream = messages.upstream[nth];
  if (upstream === undefined) return { ...about, text: requestText(messages.request) };
  return { ...about, text: `HTTP/1.1 ${upstream.status ?? 200}\n\n${jsonText(upstream.answer)}` };
}

function requestText({ method, target, headers, body }: NonNullable<Call['messages']>['request']): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${target} HTTP/1.1`, ...lines, '', jsonText(body ?? '')].join('\n');
}

async function captured({ words, query, ask }: Visit): Promise<Html> {
  const { t } = words;
  const answer = ask('GET /api/captured', { query: given({ merchant: query.merchant }) });
  const list = await unlessUnseen(words, answer, ({ calls }) => capturedTable(words, calls));
  return section('captured', t('explainer.captured'), list, t('explainer.captured_lead'));
}

function capturedTable(words: Words, calls: readonly z.infer<typeof capturedCallsView>['calls'][number][]): Html {
  const { t } = words;
  const rows = calls.map(({ id, at, merchant_id, merchant_name, operation, status, answers }) => ({
    at: timeOf(words, at),
    merchant: merchant_id === null ? null : merchantLink(merchant_id, merchant_name),
    operation: operation ?? t('trace.unknown_call'),
    status,
    explain: html`<a href="${linkTo(explainPage.path, { exchange: id })}">${t('explained.request')}</a>${answers.map(
      (one, nth) =>
        html` · <a href="${linkTo(explainPage.path, { exchange: id, nth })}">${t('explainer.upstream_said', { status: one ?? '–' })}</a>`,
    )}`,
  }));
  return table(words, 'captured', t('explainer.captured'), rows, t('explainer.none_captured'));
}

// The explanation.

function resultOf(words: Words, one: Explanation): Html {
  const { t } = words;
  const { kind, operation, revision, refusal, refused_by, losses, assumed, notes, notes_said } = one;
  const name = operation === null ? null : html` <code>${operation}</code>`;
  const refused =
    refusal === null
      ? null
      : html`<div class="notice bad" role="alert"><p>${t('explainer.refused')} ${refusal.status} <code>${refusal.error}</code> ${refusal.message}</p>${refused_by === null ? null : html`<p><code>${refused_by.row}</code> ${written(words, refused_by.why)}</p>`}</div>`;
  const unchanged =
    kind === 'request' && operation === null ? html`<p class="notice">${t('explainer.unchanged')}</p>` : null;
  const lost = losses.map(({ path, why }) => html`<li><code>${path}</code> ${written(words, why)}</li>`);
  const supposed = Object.entries(assumed).map(
    ([key, value]) => html`<dt><code>${key}</code></dt><dd><code>${value}</code></dd>`,
  );
  return html`<section id="explained" aria-labelledby="explained-title"><h2 id="explained-title">${t('explainer.explained')}</h2>
<p>${badge('shadow', t(`explained.${kind}`))}${name} · ${t('explainer.revision', { revision })}</p>
${refused}${unchanged}${notes.map((note, index) => html`<p class="notice">${says(words, note, notes_said[index] ?? null)}</p>`)}
<div class="messages">${boxesOf(words, one)}</div>
${rowsOf(words, one)}
${lost.length === 0 ? '' : html`<h3>${t('explainer.lost')}</h3><ul class="findings">${lost}</ul>`}
${supposed.length === 0 ? '' : html`<h3>${t('explainer.assumed')}</h3><dl class="facts">${supposed}</dl>`}</section>`;
}

/** What goes out: the upstream request, the till's answer, or notices. */
function boxesOf({ t }: Words, { kind, upstream, answer, notices }: Explanation): Html[] {
  const query = upstream === null ? '' : new URLSearchParams(upstream.query).toString();
  const headers = Object.entries(upstream?.headers ?? {}).map(([name, value]) => `\n${name}: ${value}`);
  return [
    ...(upstream === null
      ? []
      : [
          messageBox(
            t('explainer.goes_upstream'),
            `${upstream.method} ${upstream.path}${query === '' ? '' : `?${query}`}${headers.join('')}`,
            upstream.body,
          ),
        ]),
    ...(answer === null ? [] : [messageBox(t('explainer.till_gets'), String(answer.status), answer.body)]),
    ...notices.map(({ topic, body }) => messageBox(t('explainer.notified'), topic, body)),
    ...(kind === 'notice' && notices.length === 0 ? [html`<p class="none">${t('explainer.not_notified')}</p>`] : []),
  ];
}

function rowsOf(words: Words, { fired }: Explanation): Html {
  const rows = fired.map(
    ({ row, says: text, said, why }) =>
      html`<li><code>${row}</code> ${says(words, text, said)}<br><span class="small">${written(words, why)}</span></li>`,
  );
  return html`<h3>${words.t('explainer.rows', { count: fired.length })}</h3><ul class="findings">${rows}</ul>`;
}
