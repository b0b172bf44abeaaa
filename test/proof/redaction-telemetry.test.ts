/** The parts of `telemetry.ts` beside the log lines: an output that is closed or full, and the metrics. */
import { openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Room } from '../../src/proxy/records/upkeep.ts';
import type { Store } from '../../src/proxy/store.ts';
import { createMetrics, standardOutput } from '../../src/proxy/telemetry/telemetry.ts';

it('a line for an output that takes no more is counted, and blocks nothing', async () => {
  let dropped = 0;
  const output = standardOutput(() => dropped++, openSync('/dev/full', 'w'));
  output.write(`${'x'.repeat(4_000)}\n`);
  for (let tries = 0; dropped === 0 && tries < 500; tries++) {
    output.write('one more\n');
    await pause(10);
  }
  expect(dropped).toBeGreaterThan(0);
});

function storeWith(heap: { used_bytes: number; total_bytes: number } | null, free_bytes: number | null): Store {
  const room: Room = { level: 'low', free_bytes, log_bytes: 7, is_log_large: false };
  const counts = { links: { LIVE: 2 }, notices_pending: 3, events_waiting: 4 };
  return { upkeep: { counts: async () => counts, writerHeap: () => heap, room: () => room } } as unknown as Store; // the gauges read no more
}

const admission = { level: () => 'reads' as const, callsUnderWay: () => 5 };

it('metrics show the store, the upstream calls by class, and only what a store has', async () => {
  const metrics = createMetrics();
  metrics.count('backups', 'made');
  metrics.count('stale_versions');
  const observed = { operation: null, lane: 'legacy', outcome: 'fault', duration_ms: 20 } as const;
  metrics.observe({ ...observed, method: 'GET', status: 499 });
  metrics.observe({ ...observed, method: 'BREW', status: 789 });
  metrics.notice('delivered');
  const create = { name: 'create', method: 'POST' };
  metrics.upstream('orders', create, 'answered', 201, 30);
  metrics.upstream('orders', create, 'broken', null, 30);
  const without = await metrics.render(storeWith(null, null), admission);
  expect(without.text).not.toMatch(/^puente_writer_heap_bytes\{|^puente_disk_bytes\{kind="free"\}/m);
  const none = 'operation="none",lane="legacy",outcome="fault"';
  const sent = 'method="POST",service="orders",call="create"';
  const shown = without.text.split('\n');
  expect(shown).toEqual(
    expect.arrayContaining([
      'puente_backups_total{outcome="made"} 1',
      'puente_stale_versions_total 1',
      `puente_http_request_duration_seconds_sum{method="GET",${none},status="none"} 0.02`,
      `puente_http_request_duration_seconds_bucket{le="0.01",method="GET",${none},status="none"} 0`,
      `puente_http_request_duration_seconds_bucket{le="0.025",method="GET",${none},status="none"} 1`,
      `puente_http_request_duration_seconds_count{method="_OTHER",${none},status="other"} 1`,
      `puente_upstream_request_duration_seconds_sum{${sent},outcome="answered",status="201"} 0.03`,
      `puente_upstream_request_duration_seconds_count{${sent},outcome="broken",status="none"} 1`,
      // The first count of an alert's series would be missed if the series did not exist before.
      'puente_safety_stops_total{mode="armed"} 0',
      'puente_contradictions_total{what="amount"} 0',
      'puente_lost_links_total 0',
      'puente_notice_attempts_total{outcome="delivered"} 1',
      'puente_calls_under_way 5',
      'puente_links{state="LIVE"} 2',
    ]),
  );
  expect(without.text).toContain('process_cpu_seconds_total');
  const found = await metrics.read(storeWith({ used_bytes: 8, total_bytes: 9 }, 10), admission);
  const valuesOf = (name: string) =>
    found.find((one) => one.name === name)?.values.map(({ labels, value }) => [labels, value]);
  expect(valuesOf('puente_links')).toEqual([[{ state: 'LIVE' }, 2]]);
  expect(valuesOf('puente_waiting')).toEqual([
    [{ kind: 'notices' }, 3],
    [{ kind: 'events' }, 4],
  ]);
  expect(valuesOf('puente_shedding')).toEqual([[{}, 2]]);
  expect(valuesOf('puente_disk_level')).toEqual([[{}, 1]]);
  expect(valuesOf('puente_writer_heap_bytes')).toEqual([
    [{ kind: 'used' }, 8],
    [{ kind: 'total' }, 9],
  ]);
  expect(valuesOf('puente_disk_bytes')).toEqual([
    [{ kind: 'write_ahead_log' }, 7],
    [{ kind: 'free' }, 10],
  ]);
});

it('each has its own counts, and all have those of the process, which are collected once', async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.count('stale_versions');
  const texts = await Promise.all(
    [one, other].map(async (metrics) => (await metrics.render(storeWith(null, null), admission)).text.split('\n')),
  );
  for (const [index, lines] of texts.entries()) {
    expect(lines.filter((line) => line.startsWith('process_start_time_seconds '))).toHaveLength(1);
    expect(lines).toContain(`puente_stale_versions_total ${index === 0 ? 1 : 0}`);
  }
});
