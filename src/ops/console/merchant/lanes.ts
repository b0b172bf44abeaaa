/** Both lanes of a merchant: how they do, and what is still open on each, unit by unit; kept fresh while it is looked at. */
import type { z } from 'zod';
import type { drainView } from '../../api/stage.ts';
import { type FleetLine, pulse } from '../board-row.ts';
import { type Content, type Html, html } from '../html.ts';
import { badge, row, table, timeOf } from '../parts.ts';
import { saysAll } from '../says.ts';
import { merchantPath, type Visit } from '../visit.ts';

type DrainView = z.infer<typeof drainView>;

export function lanes({ words, path }: Visit, line: FleetLine | null, drain: DrainView): Html {
  const { t } = words;
  const { orders, legacy, safe_to_close_at } = drain;
  const rows = [
    ...orders.units.map((unit) => unitRow('orders', unit, unit.notices_pending)),
    ...legacy.units.map((unit) => unitRow('legacy', unit, null)),
  ];
  function unitRow(
    lane: 'orders' | 'legacy',
    unit: DrainView['legacy']['units'][number],
    waiting: number | null,
  ): Html {
    const doubt: Content = unit.in_doubt === 0 ? '0' : badge('warn', String(unit.in_doubt));
    return row(
      unit.unit,
      badge(lane, t(`stage.${lane}`)),
      unit.open,
      timeOf(words, unit.oldest_at),
      timeOf(words, unit.latest_end_at),
      doubt,
      waiting,
    );
  }
  const head = ['unit', 'lane', 'open', 'oldest', 'latest_end', 'in_doubt', 'notices'].map((key) => t(`lanes.${key}`));
  // What lives on beyond its lifetime has no end that could be told.
  const end =
    safe_to_close_at === null
      ? saysAll(words, drain.says, drain.said)
      : orders.open === 0
        ? null
        : html`${t('lanes.safe')} ${timeOf(words, safe_to_close_at)}.`;
  return html`<section id="lanes" aria-labelledby="lanes-title" hx-get="${merchantPath(path.id ?? '', '/lanes')}" hx-trigger="every 5s" hx-select="#lanes" hx-swap="outerMorph">
<h2 id="lanes-title">${t('merchant.lanes')}</h2>
<div class="two"><div><h3>${t('board.legacy')}</h3>${pulse(words, 'legacy', line?.health.legacy ?? null)}</div>
<div><h3>${t('board.orders')}</h3>${pulse(words, 'orders', line?.health.orders ?? null)}</div></div>
<h3>${t('lanes.open_now')}</h3>
<p>${t('lanes.counts', { orders: orders.open, legacy: legacy.open })} ${end}</p>
${rows.length === 0 ? '' : table(t('lanes.open_now'), head, rows, '')}
</section>`;
}
