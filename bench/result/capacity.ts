/** A year of sales, calculated from one: bytes by table with its retention, work, and the pace of deleting. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { EVENTS_KEPT_MS } from '../../src/ops/upkeep/chores.ts';
import type { GrowthResult } from '../measures/growth.ts';
import type { RetentionResult } from '../measures/retention.ts';
import { tableOf } from './table.ts';

/** Load of a large installation: 1.6 thousand million sales a year. */
const SALES_PER_SECOND = 50;
const DAY_S = 86_400;
const DAY_MS = DAY_S * 1000;
const GB = 1e9;

export function renderGrowth(results: readonly GrowthResult[]): string {
  const kept = keptDays();
  return results
    .map((result) => {
      const table = tableOf(
        [
          'table',
          'rows a sale',
          'bytes a sale: rows',
          'indexes',
          `GB a day at ${SALES_PER_SECOND}/s`,
          'kept, days',
          'GB',
        ],
        1,
      );
      let per_sale = 0;
      let whole = 0;
      for (const { table: name, rows, row_bytes, index_bytes } of result.tables) {
        const bytes = (row_bytes + index_bytes) / result.made;
        const days = kept[name] ?? Number.NaN;
        per_sale += bytes;
        whole += gigabytes(bytes) * days;
        const [of_rows, of_indexes] = [row_bytes, index_bytes].map((sum) => (sum / result.made).toFixed(0));
        const gb = gigabytes(bytes);
        table.push([
          name,
          (rows / result.made).toFixed(1),
          of_rows,
          of_indexes,
          gb.toFixed(1),
          days,
          (gb * days).toFixed(0),
        ]);
      }
      table.push(['all', '', per_sale.toFixed(0), '', gigabytes(per_sale).toFixed(1), '', whole.toFixed(0)]);
      return `${workOf(result)}\n${table.toString()}`;
    })
    .join('\n\n');
}

function workOf(result: GrowthResult): string {
  const { engine, sales, made, cpu_us_per_sale, server_cpu_us_per_sale, written_bytes_per_sale, resident_mb } = result;
  const server =
    server_cpu_us_per_sale === null ? '' : `, of the server ${(server_cpu_us_per_sale / 1000).toFixed(1)} ms`;
  const log = server_cpu_us_per_sale === null ? 'written to the disk' : "of the server's write-ahead log";
  const written = written_bytes_per_sale === null ? '' : `, ${(written_bytes_per_sale / 1000).toFixed(0)} kB ${log}`;
  return `Growth on ${engine}, ${sales} whole sales after ${made - sales} (create, event, read, notice): processor time of one ${(cpu_us_per_sale / 1000).toFixed(1)} ms${server}${written}; ${resident_mb?.toFixed(0) ?? '?'} MB resident at the end; ${result.notices_per_second.toFixed(0)} notices a second to one receiver meanwhile`;
}

function gigabytes(bytes_per_sale: number): number {
  return (bytes_per_sale * SALES_PER_SECOND * DAY_S) / GB;
}

/** Retention in days, as shipped. */
function keptDays(): Record<string, number> {
  const file = join(import.meta.dirname, '..', '..', 'config', 'default.yaml');
  const { retention, evidence } = parse(readFileSync(file, 'utf8'));
  const [links, notices, exchanges] = [retention.links_ms, retention.notices_ms, evidence.kept_ms].map(
    (kept_ms: number) => kept_ms / DAY_MS,
  ) as [number, number, number]; // a triple
  return {
    links,
    link_states: links,
    notices: Math.min(links, notices),
    notice_attempts: Math.min(links, notices),
    events: EVENTS_KEPT_MS / DAY_MS,
    exchanges,
  };
}

export function renderRetention(results: readonly RetentionResult[]): string {
  return results
    .map((result) => {
      const { engine, sales_per_day, kept_days, days, exchanges_by_rows, exchanges_by_span } = result;
      const sizes = days.map(({ bytes }) => `${(bytes / 2 ** 20).toFixed(0)}`).join(', ');
      const log =
        exchanges_by_rows.log_bytes_each === null
          ? ''
          : `, ${exchanges_by_rows.log_bytes_each.toFixed(0)} bytes of log each`;
      const span =
        exchanges_by_span === null
          ? ''
          : `; ${exchanges_by_span.rows} of a span at once in ${exchanges_by_span.took_ms.toFixed(0)} ms with ${(exchanges_by_span.log_bytes / 1000).toFixed(0)} kB of log`;
      return [
        `Retention on ${engine}: ${sales_per_day} sales a day, ${kept_days} days kept; MB after each day ${sizes}`,
        `${result.sales_deleted_per_second.toFixed(0)} sales a second deleted, ${(result.sales_deleted_per_second / SALES_PER_SECOND).toFixed(0)} times ${SALES_PER_SECOND}; longest step ${result.longest_step_ms.toFixed(0)} ms`,
        `Exchanges: ${exchanges_by_rows.per_second.toFixed(0)} a second deleted row by row${log}${span}`,
      ].join('\n');
    })
    .join('\n\n');
}
