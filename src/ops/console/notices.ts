/** The delivery log: notices with their attempts, and redelivers one or many of them. */
import type { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import { noticeTopics } from '../../mapping/schema.ts';
import { OTHERS } from '../../mapping/tables.ts';
import type { noticesView, receiversView } from '../api/notices.ts';
import { durationOf, type Html, html, says, timeOf } from '../html.ts';
import { noticeStates } from '../notices.ts';
import { type Fields, type Form, given, instantOf, linkTo, type Page, reasonForm, type Visit } from './kit.ts';
import {
  actForm,
  badge,
  changeForm,
  field,
  hidden,
  merchantLink,
  reasonField,
  restOf,
  section,
  table,
  unlessUnseen,
} from './parts.ts';

type Notice = z.infer<typeof noticesView>['notices'][number];

/** @param is_selectable each row has a box, for a form around the table. */
export function noticeTable(words: Words, notices: readonly Notice[], is_selectable = false): Html {
  const { t } = words;
  const rows = notices.map(
    ({ id, merchant, merchant_name, topic, subject, state, attempts, created_at, last_attempt, next_attempt_at }) => ({
      subject: html`${is_selectable ? html`<input type="checkbox" name="${SELECTED}${id}" value="on" aria-label="${t('redeliver.select', { subject: `${topic} ${subject}` })}"> ` : ''}<a href="/notices/${encodeURIComponent(id)}">${topic} ${subject}</a>`,
      merchant: merchantLink(merchant, merchant_name),
      state: badge(state, t(`notice.${state}`)),
      attempts,
      made: timeOf(words, created_at),
      last: last_attempt === null ? null : says(words, last_attempt.detail, last_attempt.said),
      next: timeOf(words, next_attempt_at),
    }),
  );
  return table(words, 'notices', t('nav.notices'), rows, t('notices.none'));
}

/** What names of the boxes begin with; the notice's id follows. */
const SELECTED = 'notice_';

const SHOWN = 50;

export const noticeList: Page = {
  path: '/notices',
  async show(visit) {
    const { words, query } = visit;
    const { t } = words;
    const { merchant, state, since, until } = query;
    const filter = given({ merchant, state, since: instantOf(since), until: instantOf(until), limit: SHOWN });
    const list = await unlessUnseen(
      words,
      visit.ask('GET /api/notices', { query: filter }),
      ({ notices }) => html`${restOf(words, notices, SHOWN)}${selection(visit, notices)}`,
    );
    const content = html`<form class="filters" action="/notices" method="get">
${field.whose(words, merchant)}
${field.filter(words, 'state', t('notices.state'), noticeStates, (one) => t(`notice.${one}`), state)}
${field.period(words, query)}
<p><button>${t('board.show')}</button></p></form>
${list}
${await redeliverWindow(visit)}
${await receivers(visit)}`;
    return { title: t('nav.notices'), content };
  },
};

export const noticePage: Page = {
  path: '/notices/:id',
  async show(visit) {
    const { words, path } = visit;
    const { t } = words;
    const one = await visit.ask('GET /api/notices/:id', { path });
    const tries = one.tries.map(({ at, duration_ms, outcome, status, detail, said, url }) => ({
      at: timeOf(words, at),
      outcome: badge(outcome === 'delivered' ? 'good' : 'bad', t(`attempt.${outcome}`)),
      status,
      duration: durationOf(words, duration_ms),
      url,
      detail: says(words, detail, said),
    }));
    const content = html`<dl class="facts">
<dt>${t('notices.state')}</dt><dd>${badge(one.state, t(`notice.${one.state}`))}${one.replayed ? html` ${t('notices.redelivered')}` : ''}</dd>
<dt>${t('board.merchant')}</dt><dd>${merchantLink(one.merchant, one.merchant_name)}</dd>
<dt>${t('notices.about')}</dt><dd>${one.topic} ${one.subject}</dd>
<dt>${t('notices.sale')}</dt><dd><a href="${linkTo('/trace', { id: one.legacy_id })}">${one.legacy_id}</a></dd>
<dt>${t('notices.made')}</dt><dd>${timeOf(words, one.created_at)}</dd>
${one.next_attempt_at === null ? '' : html`<dt>${t('notices.next')}</dt><dd>${timeOf(words, one.next_attempt_at)}</dd>`}</dl>
${section('attempts', t('notices.attempts'), table(words, 'attempts', t('notices.attempts'), tries, t('attempts.none')))}
${section('redeliver', t('redeliver.title'), actForm(visit, `/notices/${encodeURIComponent(one.id)}/replay`, 'redeliver-reason', t('redeliver.go')), t('redeliver.lead'))}`;
    return { title: t('notices.one', { id: one.id }), content };
  },
};

const redeliverOne = reasonForm('/notices/:id/replay', noticePage, 'POST /api/notices/:id/replay', ({ id = '' }) => {
  return `/notices/${encodeURIComponent(id)}?done=redelivered`;
});

/** The first form counts; the second sends that count as `expected`, and the API redelivers only if it is still right. */
const redeliverMany: Form = {
  path: '/notices/replay',
  page: noticeList,
  async send(visit, fields) {
    const { reason, merchant, topic, state, since, until, expected } = fields;
    if (expected === undefined) {
      await counted(visit, fields);
      return `${linkTo('/notices', { merchant, topic, state, since, until, reason, counted: 'true' })}#redeliver`;
    }
    const body = { ...windowOf(fields), expected: Number(expected) };
    await visit.ask('POST /api/notices/replay', { body });
    return '/notices?done=redelivered_many';
  },
};

/** The current count in the store. @throws PuenteError as the API refuses. */
async function counted({ ask }: Visit, fields: Fields): Promise<number> {
  const body = { ...windowOf(fields), dry_run: true };
  return (await ask('POST /api/notices/replay', { body })).notices;
}

function windowOf({ reason, merchant, topic, state, since, until }: Fields) {
  const states = state === undefined || state === '' ? {} : { states: [state] };
  return { ...given({ merchant, topic }), ...states, since: instantOf(since), until: instantOf(until), reason };
}

/** Each has an audit line of its own. */
const redeliverSelected: Form = {
  path: '/notices/selected',
  page: noticeList,
  async send({ ask }, { reason, ...fields }) {
    const ids = Object.keys(fields).flatMap((name) => (name.startsWith(SELECTED) ? [name.slice(SELECTED.length)] : []));
    if (ids.length === 0) throw new PuenteError('bad_request', say('refusal.none_selected', {}));
    for (const id of ids) await ask('POST /api/notices/:id/replay', { path: { id }, body: { reason } });
    return '/notices?done=redelivered_many';
  },
};

const testReceiver: Form = {
  path: '/notices/test',
  page: noticeList,
  async send({ ask }, { merchant, reason }) {
    const body = { merchant, reason };
    const { outcome, detail, said } = await ask('POST /api/notices/test', { body });
    if (outcome === 'delivered') return linkTo('/notices', { merchant, done: 'test_acknowledged' });
    throw new PuenteError('unreachable', said === null ? detail : say(said.code, said.facts));
  },
};

export const noticeForms: readonly Form[] = [redeliverMany, redeliverSelected, testReceiver, redeliverOne];

function selection(visit: Visit, notices: readonly Notice[]): Html {
  const rows = noticeTable(visit.words, notices, true);
  if (notices.length === 0) return rows;
  const send = html`${reasonField(visit, 'selected-reason')}<button>${visit.words.t('redeliver.selected')}</button>`;
  return changeForm(visit, '/notices/selected', html`${rows}${send}`);
}

/** Receivers of the last day, and a test of one. */
async function receivers(visit: Visit): Promise<Html> {
  const { words, query, sent } = visit;
  const { t } = words;
  const merchant = sent.merchant ?? idIn(query.merchant);
  const answer = visit.ask('GET /api/notices/receivers', { query: given({ merchant: query.merchant }) });
  const list = await unlessUnseen(words, answer, ({ receivers }) => receiverTable(words, receivers));
  const test = changeForm(
    visit,
    '/notices/test',
    html`<label for="test-merchant">${t('board.merchant')}</label><input id="test-merchant" name="merchant" value="${merchant ?? ''}" inputmode="numeric" required>
${reasonField(visit, 'test-reason')}<button>${t('receivers.test')}</button>`,
  );
  return section(
    'receivers',
    t('receivers.title'),
    html`${list}<p class="lead">${t('receivers.test_lead')}</p>${test}`,
    t('receivers.lead'),
  );
}

/** '' for a name, or for none. */
function idIn(merchant = ''): string {
  return /^\d+$/.test(merchant) ? merchant : '';
}

function receiverTable(words: Words, found: readonly z.infer<typeof receiversView>['receivers'][number][]): Html {
  const { t } = words;
  const rows = found.map(({ merchant, merchant_name, url, success_rate, delivered, late, refused, held, ...last }) => ({
    receiver: url ?? t('receivers.held_back'),
    merchant: merchant === OTHERS ? merchant : merchantLink(merchant, merchant_name),
    rate:
      success_rate === null
        ? null
        : badge(success_rate >= 99 ? 'good' : success_rate >= 90 ? 'warn' : 'bad', `${words.number(success_rate)} %`),
    delivered,
    late,
    refused,
    held,
    last_delivered: timeOf(words, last.last_delivered_at),
    last_refused: timeOf(words, last.last_refused_at),
  }));
  return table(words, 'receivers', t('receivers.title'), rows, t('receivers.none'));
}

async function redeliverWindow(visit: Visit): Promise<Html> {
  const { words, query, sent } = visit;
  const { t } = words;
  const fields: Fields = { ...query, ...sent };
  // A list may be of a name, and a redelivery may not; an empty field of it would mean everybody.
  const must = sent.merchant === undefined && idIn(query.merchant) !== (query.merchant ?? '');
  const merchant = must ? '' : fields.merchant;
  const again = fields.counted === 'true' ? await confirmation(visit, fields) : null;
  const form = changeForm(
    visit,
    '/notices/replay',
    html`<div class="target">${field.input('merchant', t('board.merchant'), merchant, html` inputmode="numeric"${must ? html` required` : null}`, 'many-merchant')}
${field.select('topic', t('redeliver.topic'), [['', t('board.any')], ...noticeTopics.map((one) => [one, one] as const)], fields.topic, 'many-topic')}
${field.select('state', t('notices.state'), [['', t('redeliver.undelivered')], ...noticeStates.map((one) => [one, t(`notice.${one}`)] as const)], fields.state, 'many-state')}
${field.time('since', t('form.since'), fields.since, html` required`, 'many-since')}
${field.time('until', t('form.until'), fields.until, html` required`, 'many-until')}</div>
${reasonField(visit, 'many-reason')}<button>${t('redeliver.count')}</button>`,
  );
  return section('redeliver', t('redeliver.many'), html`${again}${form}`, t('redeliver.many_lead'));
}

/** Counts again; a number in the address or in an earlier form is not used. */
async function confirmation(visit: Visit, fields: Fields): Promise<Html> {
  const { t } = visit.words;
  const count = await counted(visit, fields);
  const window = ['merchant', 'topic', 'state', 'since', 'until', 'reason'].map((name) =>
    hidden(name, fields[name] ?? ''),
  );
  const form = html`${window}${hidden('counted', 'true')}${hidden('expected', count)}<button>${t('redeliver.go_many')}</button>`;
  return html`<div class="notice warn" role="status"><p>${t('redeliver.would', { count })}</p>${changeForm(visit, '/notices/replay', form)}</div>`;
}
