/** One merchant's row of the board. */
import type { z } from 'zod';
import { actionOf } from '../../locales/says.ts';
import type { Words } from '../../locales/words.ts';
import type { fleetView } from '../api/fleet.ts';
import { type Content, type Html, html } from './html.ts';
import { badge, durationOf, namedRow, spark, timeOf } from './parts.ts';
import { says } from './says.ts';
import { merchantPath } from './visit.ts';

export type FleetLine = z.infer<typeof fleetView>['merchants'][number];
type Pulse = NonNullable<FleetLine['health']['legacy']>;

/** Keys of the columns' names. */
export const HEAD = [
  'board.merchant',
  'board.stage',
  'board.legacy',
  'board.orders',
  'board.open',
  'board.readiness',
  'board.incident',
] as const;

export function boardRow(words: Words, line: FleetLine): Html {
  const { merchant_id, site, health } = line;
  return namedRow(
    HEAD.map((key) => words.t(key)),
    html`<a href="${merchantPath(merchant_id)}">${merchant_id}</a>${site === null ? '' : html` <span class="site">${site}</span>`}`,
    stageCell(words, line),
    pulse(words, 'legacy', health.legacy),
    pulse(words, 'orders', health.orders),
    openCell(words, line),
    readinessCell(words, line),
    incidentCell(words, line),
  );
}

/** Where new work goes; a stop and what differs from the merchant's own stage are named beside it. */
export function stageCell({ t, number }: Words, { intended, share, apart, stopped, waiting_moves }: FleetLine): Html {
  const own = intended === 'canary' ? `${t('stage.canary')} ${number(share)} %` : t(`stage.${intended}`);
  return html`${badge(intended, own)}${apart.map(
    (one) => html` <span class="apart">${t(`kind.${one.kind}`)}: ${t(`stage.${one.stage}`)}</span>`,
  )}${stopped.length === 0 ? '' : html` ${badge('bad', t('board.stopped'))}`}${waiting_moves === 0 ? '' : html` ${badge('warn', t('board.waiting', { count: waiting_moves }))}`}`;
}

/** Rate, faults and waits of a lane over the last hour, with its trend. */
export function pulse(words: Words, lane: 'legacy' | 'orders', found: Pulse | null): Content {
  const { t, number } = words;
  if (found === null) return html`<span class="none">${t('pulse.none')}</span>`;
  const { calls, per_minute, faults, fault_share, p50_ms, p99_ms, trend } = found;
  const label = t('pulse.label', { calls, faults });
  return html`<div class="pulse">${spark(trend, lane, label)}<span>${t('pulse.rate', { rate: number(per_minute) })}</span>
<span class="${faults > 0 ? 'bad' : ''}">${t('pulse.faults', { share: number(fault_share) })}</span>
<span>p50 ${durationOf(words, p50_ms)}, p99 ${durationOf(words, p99_ms)}</span></div>`;
}

function openCell({ t }: Words, { open, draining }: FleetLine): Content {
  const said = [
    open.orders > 0 ? html`<span>${t('open.orders', { count: open.orders })}</span>` : null,
    open.legacy > 0 ? html`<span>${t('open.legacy', { count: open.legacy })}</span>` : null,
    open.in_doubt > 0 ? badge('warn', t('open.in_doubt', { count: open.in_doubt })) : null,
    open.notices_pending > 0 ? html`<span>${t('open.notices', { count: open.notices_pending })}</span>` : null,
    draining === null ? null : badge('draining', t(`drain.${draining.lane}`, { count: draining.open })),
  ].filter((one) => one !== null);
  return said.length === 0
    ? html`<span class="none">${t('open.nothing')}</span>`
    : html`<div class="lines">${said}</div>`;
}

function readinessCell(words: Words, { readiness }: FleetLine): Content {
  const { t } = words;
  if (readiness === null) return html`<span class="none">${t('verdict.unjudged')}</span>`;
  const { verdict, blockers, first, first_said } = readiness;
  const count = blockers > 0 ? html` <span>${t('board.blockers', { count: blockers })}</span>` : '';
  return html`${badge(verdict, t(`verdict.${verdict}`))}${count}${first === null ? '' : html`<div class="small">${says(words, first, first_said)}</div>`}`;
}

function incidentCell(words: Words, { last_incident }: FleetLine): Content {
  if (last_incident === null) return html`<span class="none">${words.t('board.no_incident')}</span>`;
  const { at, what, why, said } = last_incident;
  return html`<div class="lines">${timeOf(words, at)}<span class="small">${actionOf(words, what)}: ${says(words, why, said)}</span></div>`;
}
