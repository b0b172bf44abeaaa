/** Incidents, and the receivers of their alerts, each with a test. */
import type { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import { conditionKinds, incidentKinds } from '../../proxy/records/incidents.ts';
import { incidentsView, receiversView, testsView } from '../api/incidents.ts';
import { type Content, type Html, html, says, timeOf } from '../html.ts';
import { incidentView } from '../incidents/incidents.ts';
import { type Form, given, linkTo, merchantPath, type Page, type Visit } from './kit.ts';
import { badge, changeForm, hidden, merchantLink, options, reasonField, section, table } from './parts.ts';

export const incidentPage: Page = {
  path: '/incidents',
  async show(visit) {
    const { words, query } = visit;
    const { t } = words;
    const { merchant, kind = '', state = '' } = query;
    const { incidents } = await visit.ask('GET /api/incidents', incidentsView, {
      query: given({ merchant, kind, state }),
    });
    const rows = incidents.map((incident) => rowOf(visit, incident));
    const any = ['', t('board.any')] as const;
    const kinds = incidentKinds.map((one) => [one, t(`incident_kind.${one}`)] as const);
    const states = (['open', 'closed'] as const).map((one) => [one, t(`incidents.${one}`)] as const);
    const content = html`<p class="lead">${t('incidents.lead')}</p>
<form class="filters" action="/incidents" method="get">
<p><label for="merchant">${t('board.merchant')}</label><input id="merchant" name="merchant" inputmode="numeric" value="${merchant ?? ''}"></p>
<p><label for="kind">${t('incidents.kind')}</label><select id="kind" name="kind">${options([any, ...kinds], kind)}</select></p>
<p><label for="state">${t('incidents.state')}</label><select id="state" name="state">${options([any, ...states], state)}</select></p>
<p><button>${t('board.show')}</button></p></form>
${table(words, 'incidents', t('nav.incidents'), rows, t('incidents.none'))}
<p><a href="/refused">${t('refused_in.title')}</a></p>
${section('alerts', t('alerts.title'), await receivers(visit), t('alerts.lead'))}`;
    return { title: t('nav.incidents'), content };
  },
};

function rowOf(visit: Visit, incident: z.infer<typeof incidentView>) {
  const { words } = visit;
  const { t } = words;
  const { id, kind, merchant, name, state, opened_at, closed_at, count, reason, said, sample } = incident;
  const close = html`<details><summary>${t('incidents.close')}</summary>${changeForm(visit, `/incidents/${id}/close`, html`${reasonField(visit, `reason-${id}`)}<button>${t('incidents.close')}</button>`)}</details>`;
  const is_closable = state === 'open' && !conditionKinds.some((one) => one === kind);
  return {
    kind: t(`incident_kind.${kind}`),
    merchant: merchant === null ? t('incidents.whole') : merchantLink(merchant, name),
    // Closed because it is watched no longer is not good news.
    state: html`${badge(state === 'open' ? 'bad' : said?.code === 'incident.unwatched' ? 'warn' : 'good', t(`incidents.${state}`))}${is_closable ? close : ''}`,
    since: timeOf(words, opened_at),
    until: timeOf(words, closed_at),
    count,
    why: says(words, reason, said),
    sample: sample === null ? null : html`<a href="${placeOf(incident, sample)}">${sample}</a>`,
  };
}

/** The page of a sample: that of its merchant has the moves that wait, and a ramp is the subject of its incident. */
function placeOf({ kind, merchant, subject }: z.infer<typeof incidentView>, sample: string): string {
  if ((kind === 'move_waiting' || kind === 'bulk_stopped') && subject === sample) return `/ramps/${sample}`;
  if (kind === 'move_waiting' && merchant !== null) return merchantPath(merchant);
  return kind === 'bulk_stopped' ? `/bulk/${sample}` : linkTo('/trace', { id: sample });
}

async function receivers(visit: Visit): Promise<Html> {
  const { words } = visit;
  const { t } = words;
  const found = (await visit.ask('GET /api/alerts', receiversView)).receivers;
  const rows = found.map(({ receiver, host, kinds, waiting, last, refused }) => ({
    receiver,
    host: refused ?? host,
    kinds: words.list(kinds.map((kind) => t(`incident_kind.${kind}`))),
    waiting,
    last: last && lastOf(words, last),
    test: changeForm(
      visit,
      '/alerts/test',
      html`${hidden('receiver', receiver)}${reasonField(visit, `reason-${receiver}`)}<button>${t('alerts.test')}</button>`,
    ),
  }));
  return table(words, 'alerts', t('alerts.title'), rows, t('alerts.none'));
}

function lastOf(
  words: Words,
  { at, state, detail, said }: NonNullable<z.infer<typeof receiversView>['receivers'][number]['last']>,
): Content {
  return html`${badge(state === 'delivered' ? 'good' : 'bad', timeOf(words, at))} ${says(words, detail, said)}`;
}

const close: Form = {
  path: '/incidents/:id/close',
  page: incidentPage,
  async send({ ask, path }, { reason }) {
    await ask('POST /api/incidents/:id/close', incidentView, { path: { id: path.id ?? '' }, body: { reason } });
    return '/incidents?done=incident_closed';
  },
};

const test: Form = {
  path: '/alerts/test',
  page: incidentPage,
  async send({ ask }, { receiver, reason }) {
    const { tests } = await ask('POST /api/alerts/test', testsView, { body: { receiver, reason } });
    const failed = tests.find(({ is_delivered }) => !is_delivered);
    if (failed !== undefined) {
      const cause = { text: failed.detail, said: failed.said };
      throw new PuenteError('unreachable', say('refusal.alert_failed', { id: failed.receiver, cause }));
    }
    return '/incidents?done=alert_tested#alerts';
  },
};

export const incidentForms: readonly Form[] = [close, test];
