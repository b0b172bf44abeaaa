/** A result as tables for people. */
import { BASELINE, contestants } from '../contestants/contestants.ts';
import type { SizeResult } from '../measures/sizes.ts';
import type { StartsResult } from '../measures/starts.ts';
import type { WorkersResult } from '../measures/workers.ts';
import type { Spread } from '../statistics.ts';
import { renderGrowth, renderRetention } from './capacity.ts';
import type { Change } from './compare.ts';
import { renderCosts } from './costs.ts';
import type { Goal } from './goals.ts';
import type { Line } from './lines.ts';
import type { Result } from './result.ts';
import { tableOf } from './table.ts';

export function renderResult(result: Result): string {
  const arrangements = Map.groupBy(
    result.lines,
    ({ arrangement, fsync_delay_us }) => `${arrangement} ${fsync_delay_us}`,
  );
  return [
    renderHead(result),
    ...[...arrangements.values()].map((lines) => renderLines(lines, result.slow_fsync_ms)),
    ...renderBeside(result.lines),
    ...(result.costs.length === 0 ? [] : [renderCosts(result.costs)]),
    ...renderExtras(result),
    renderGoals(result.goals),
    renderChecks(result),
  ].join('\n\n');
}

function renderHead({ machine, upstream, load, engine, took_s }: Result): string {
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Node ${machine.node}, ${machine.cpu}, ${machine.cores} cores, ${machine.memory_gib} GiB, ${machine.system}; one fsync ${machine.fsync_ms.toFixed(2)} ms`,
    `${versions.join(', ')}; upstream ${upstream}; load ${load}; Puente's rows on ${engine}; ${Math.round(took_s / 60)} min`,
    ...contestants.map(({ name, what }) => `${name}: ${what}`),
    'Absolute figures are noise; the ratios, taken inside each repetition, are the result. CPU counts what was put off, too.',
  ].join('\n');
}

function renderLines(lines: readonly Line[], slow_fsync_ms: Result['slow_fsync_ms']): string {
  const [first] = lines;
  const columns: [string, (line: Line) => string][] = [
    ['case', ({ case_name }) => case_name],
    ['load', loadOf],
    ['contestant', ({ contestant }) => contestant],
    ['req/s (min–max)', ({ per_second }) => withSpread(per_second, 0)],
    [`ratio to ${BASELINE}`, ({ ratio, contestant }) => (contestant === BASELINE ? '1' : withSpread(ratio, 2))],
    ['p50 ms', ({ p50_ms }) => medianOf(p50_ms, 2)],
    ['p99 ms', ({ p99_ms }) => medianOf(p99_ms, 2)],
    ['p99.9 ms', ({ p999_ms }) => medianOf(p999_ms, 2)],
    [
      'added p50/p99/p99.9',
      ({ added }) =>
        added === null ? '–' : [added.p50_ms, added.p99_ms, added.p999_ms].map((one) => medianOf(one, 2)).join(' / '),
    ],
    ['CPU µs', ({ cpu_us }) => medianOf(cpu_us, 0)],
    ['CPU ratio', ({ cpu_ratio }) => medianOf(cpu_ratio, 2)],
    ['MB', ({ resident_mb }) => medianOf(resident_mb, 0)],
    ['loop p99 ms', ({ loop_p99_ms }) => medianOf(loop_p99_ms, 1)],
  ];
  const table = tableOf(
    columns.map(([head]) => head),
    3,
  );
  for (const line of lines) table.push(columns.map(([, cell]) => cell(line)));
  const cores =
    first?.arrangement === 'one core'
      ? 'each contestant alone on core 1, upstream and load on core 0'
      : 'cores as the system likes';
  const delay = first?.fsync_delay_us ?? null;
  const slow =
    delay === null ? '' : `; fsync +${delay / 1000} ms, measured ${slow_fsync_ms[String(delay)]?.toFixed(2) ?? '?'} ms`;
  return `Arrangement: ${first?.arrangement} (${cores}${slow})\n${table.toString()}`;
}

/** Empty unless another checkout took part. */
function renderBeside(lines: readonly Line[]): string[] {
  const table = tableOf(['case', 'load', 'arrangement', 'req/s', 'CPU'], 3);
  for (const line of lines) {
    const { beside } = line;
    if (beside === null) continue;
    const slow = line.fsync_delay_us === null ? '' : `, fsync +${line.fsync_delay_us / 1000} ms`;
    table.push([
      line.case_name,
      loadOf(line),
      `${line.arrangement}${slow}`,
      withSpread(beside.ratio, 2),
      withSpread(beside.cpu_ratio, 2),
    ]);
  }
  if (table.length === 0) return [];
  return [`Puente over the checkout beside it, each repetition by itself: median (min–max)\n${table.toString()}`];
}

function renderExtras({ sizes, starts, growth, retention, memory, workers, not_measured }: Result): string[] {
  const parts: string[] = [];
  if (sizes !== null) parts.push(renderSizes(sizes));
  if (starts !== null) parts.push(renderStarts(starts));
  if (growth !== null) parts.push(renderGrowth(growth));
  if (retention !== null) parts.push(renderRetention(retention));
  if (memory !== null) {
    const points = memory.points.filter((_point, index) => index % 6 === 5 || index === memory.points.length - 1);
    parts.push(
      `Memory: ${memory.at_start_mb?.toFixed(0)} MB at the start; ${points.map(({ requests, resident_mb }) => `${resident_mb?.toFixed(0)} MB after ${requests}`).join(', ')}`,
    );
  }
  if (workers !== null) parts.push(renderWorkers(workers));
  if (not_measured.length > 0) parts.push(not_measured.map((why) => `Not measured: ${why}`).join('\n'));
  return parts;
}

function renderWorkers({ lines, measured_ratio, own_cores_ratio, is_pinned, cores }: WorkersResult): string {
  const table = tableOf(['processes', 'create/s', 'Puente µs', 'PostgreSQL µs', 'load and upstream µs'], 0);
  for (const { processes, per_second, puente_us, postgres_us, others_us } of lines)
    table.push([
      processes,
      withSpread(per_second, 0),
      ...[puente_us, postgres_us, others_us].map((spread) => withSpread(spread, 0)),
    ]);
  const places = is_pinned ? 'Puente on a core for each process' : 'cores as the system likes';
  return `Processes on PostgreSQL, 64 in flight for each (${places}; database, load and upstream on the same ${cores})
${table.toString()}
Two processes over one: ${withSpread(measured_ratio, 2)} × as measured with all of that on ${cores} cores; ${withSpread(own_cores_ratio, 2)} × by Puente's processor time for a create, as with a core each`;
}

function renderStarts({ links, lines, first_calls }: StartsResult): string {
  const table = tableOf(['start', 'ready ms', 'CPU ms', 'over Puente', 'steps, s'], 1);
  for (const { who, ready_ms, cpu_ms, ratio, steps } of lines)
    table.push([
      who,
      withSpread(ready_ms, 0),
      withSpread(cpu_ms, 0),
      `${withSpread(ratio, 2)} ×`,
      Object.entries(steps)
        .map(([step, took]) => `${step} ${took.toFixed(2)}`)
        .join(', '),
    ]);
  return `A start after kill -9, on ${links} links\n${table}
The first 1,000 creates after a start take ${withSpread(first_calls, 2)} × the time of as many when warm.`;
}

function renderSizes(sizes: readonly SizeResult[]): string {
  const table = tableOf(
    [
      'links',
      'in doubt',
      'database MB',
      'ready ms',
      'memory MB',
      'create/s',
      'create CPU µs',
      'get-final/s',
      'get-final CPU µs',
    ],
    0,
  );
  for (const size of sizes) {
    table.push([
      size.links,
      size.in_doubt,
      size.database_mb.toFixed(0),
      size.ready_ms.toFixed(0),
      size.resident_mb?.toFixed(0) ?? '–',
      withSpread(size.create.per_second, 0),
      withSpread(size.create.cpu_us, 0),
      withSpread(size.get_final.per_second, 0),
      withSpread(size.get_final.cpu_us, 0),
    ]);
  }
  return `Sizes of the database, 64 in flight\n${table.toString()}`;
}

function renderGoals(goals: readonly Goal[]): string {
  const table = tableOf(['goal', 'measured', 'verdict'], 3);
  for (const { goal, measured, verdict, why } of goals)
    table.push([goal, measured ?? '–', why === null ? verdict : `${verdict}: ${why}`]);
  return `Goals\n${table.toString()}`;
}

function renderChecks({ checks, faults }: Result): string {
  return [
    ...checks.map(
      ({ where, what, expected, found }) =>
        `${found === expected ? 'ok   ' : 'WRONG'} ${where}: ${what} ${found}, must be ${expected}`,
    ),
    ...faults.map((fault) => `WRONG ${fault}`),
  ].join('\n');
}

export function renderChanges(changes: readonly Change[]): string {
  const table = tableOf(['against the saved run', 'before', 'now', 'change', 'verdict'], 1);
  for (const { what, before, now, better, verdict } of changes)
    table.push([what, before.toPrecision(3), now.toPrecision(3), `${((better - 1) * 100).toFixed(0)} %`, verdict]);
  return table.toString();
}

function medianOf(spread: Spread | null, decimals: number): string {
  return spread === null ? '–' : spread.median.toFixed(decimals);
}

function withSpread(spread: Spread | null, decimals: number): string {
  if (spread === null) return '–';
  const [median, min, max] = [spread.median, spread.min, spread.max].map((one) => one.toFixed(decimals));
  return `${median} (${min}–${max})`;
}

function loadOf({ rate, in_flight }: Line): string {
  return rate === null ? `${in_flight} in flight` : `${rate}/s`;
}
