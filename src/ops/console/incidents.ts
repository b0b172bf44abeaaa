/** Incidents, and the receivers of their alerts, each with a test. */
import type { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Words } from '../../locales/words.ts';
import { conditionKinds, incidentKinds } from '../../proxy/records/incidents.ts';
import type { receiversView } from '../api/incidents.ts';
import { type Content, type Html, html, says, saysAll, timeOf } from '../html.ts';
import type { incidentView } from '../incidents/incidents.ts';
import { type Form, given, instantOf, linkTo, merchantPath, type Page, reasonForm, type Visit } from './kit.ts';
import { actForm, badge, field, hidden, merchantLink, restOf, section, table, unlessUnseen } from './parts.ts';

const SHOWN = 100;

export const incidentPage: Page = {
  path: '/incidents',
  async show(visit) {
    const { words, query } = visit;
    const { t } = words;
    const { merchant, kind, state, since, until } = query;
    const period = { since: instantOf(since), until: instantOf(until) };
    const filter = given({ merchant, kind, state, ...period, limit: SHOWN });
    const list = await unlessUnseen(words, visit.ask('GET /api/incidents', { query: filter }), ({ incidents }) => {
      const rows = incidents.map((incident) => rowOf(visit, incident));
      return html`${restOf(words, rows, SHOWN)}${table(words, 'incidents', t('nav.incidents'), rows, t('incidents.none'))}`;
    });
    const content = html`<p class="lead">${t('incidents.lead')}</p>
<form class="filters" action="/incidents" method="get">
${field.whose(words, merchant)}
${field.filter(words, 'kind', t('incidents.kind'), incidentKinds, (one) => t(`incident_kind.${one}`), kind)}
${field.filter(words, 'state', t('incidents.state'), ['open', 'closed'], (one) => t(`incidents.${one}`), state)}
${field.period(words, query)}
<p><button>${t('board.show')}</button></p></form>
${list}
${section('alerts', t('alerts.title'), await receivers(visit), t('alerts.lead'))}`;
    return { title: t('nav.incidents'), content };
  },
};

function rowOf(visit: Visit, incident: z.infer<typeof incidentView>) {
  const { words } = visit;
  const { t } = words;
  const { id, kind, merchant, name, state, opened_at, closed_at, count, reason, said, sample } = incident;
  const close = html`<details><summary>${t('incidents.close')}</summary>${actForm(visit, `/incidents/${id}/close`, `reason-${id}`, t('incidents.close'))}</details>`;
  const is_closable = state === 'open' && !conditionKinds.some((one) => one === kind);
  return {
    kind: t(`incident_kind.${kind}`),
    merchant: merchant === null ? t('incidents.whole') : merchantLink(merchant, name),
    // Closed because it is watched no longer is not good news.
    state: html`${badge(state === 'open' ? 'bad' : said?.code === 'incident.unwatched' ? 'warn' : 'good', t(`incidents.${state}`))}${is_closable ? close : ''}`,
    since: timeOf(words, opened_at),
    until: timeOf(words, closed_at),
    count,
    why: saysAll(words, reason, said === null ? [] : [said]),
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
  const found = (await visit.ask('GET /api/alerts')).receivers;
  const rows = found.map(({ receiver, host, kinds, waiting, last, refused, refused_said }) => ({
    receiver,
    host: refused === null ? host : saysAll(words, refused, refused_said),
    kinds: words.list(kinds.map((kind) => t(`incident_kind.${kind}`))),
    waiting,
    last: last && lastOf(words, last),
    test: actForm(visit, '/alerts/test', `reason-${receiver}`, t('alerts.test'), '', hidden('receiver', receiver)),
  }));
  return table(words, 'alerts', t('alerts.title'), rows, t('alerts.none'));
}

function lastOf(
  words: Words,
  { at, state, detail, said }: NonNullable<z.infer<typeof receiversView>['receivers'][number]['last']>,
): Content {
  return html`${badge(state === 'delivered' ? 'good' : 'bad', timeOf(words, at))} ${says(words, detail, said)}`;
}

const test: Form = {
  path: '/alerts/test',
  page: incidentPage,
  async send({ ask }, { receiver, reason }) {
    const { tests } = await ask('POST /api/alerts/test', { body: { receiver, reason } });
    const failed = tests.find(({ is_delivered }) => !is_delivered);
    if (failed !== undefined) {
      const cause = { text: failed.detail, said: failed.said };
      throw new PuenteError('unreachable', say('refusal.alert_failed', { id: failed.receiver, cause }));
    }
    return '/incidents?done=alert_tested#alerts';
  },
};

export const incidentForms: readonly Form[] = [
  reasonForm('/incidents/:id/close', incidentPage, 'POST /api/incidents/:id/close', () => {
    return '/incidents?done=incident_closed';
  }),
  test,
];
