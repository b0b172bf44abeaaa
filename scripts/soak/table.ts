/** A soak's result as tables for people. */
import Table from 'cli-table3';
import type { Trend } from './flat.ts';
import type { Ruling } from './judge.ts';
import type { Result } from './run.ts';

/** Violations shown per invariant; `--json` lists all. */
const SHOWN = 10;

export function printResult(result: Result): string {
  const { counts, statuses, faults, log, trends, rulings, seed, minutes, rate, passed, kept } = result;
  const list = (entries: Record<string, number>): string =>
    Object.entries(entries)
      .map(([name, count]) => `${name}: ${count}`)
      .join(', ');
  const broken = rulings.flatMap(({ invariant, violations }) => [
    ...violations.slice(0, SHOWN).map((text) => `  ${invariant}: ${text}`),
    ...(violations.length > SHOWN ? [`  ${invariant}: and ${violations.length - SHOWN} more`] : []),
  ]);
  return [
    `${minutes} min at ${rate} sales a second, seed ${seed}`,
    list(counts),
    `answers by status (0: none came) ${list(statuses)}`,
    `faults that acted: ${list(faults)}`,
    `the server's log: ${list(log)}`,
    trendTable(trends),
    'Slopes are judged after the first third, which warms up. A rise below the resolution can be noise. What tills',
    'waited for includes the trouble of upstream, so it is shown and not judged.',
    'Memory is judged once bounded caches are full, the heap by what collections of all garbage leave; before, it is too short.',
    rulingTable(rulings),
    ...broken,
    passed ? 'Everything held.' : `Something did not hold. The database and the history stay in ${kept}`,
    passed ? '' : `The same load again: --minutes ${minutes} --rate ${rate} --seed ${seed}`,
  ]
    .filter((line) => line !== '')
    .join('\n');
}

export function trendTable(trends: readonly Trend[]): string {
  const table = new Table({
    head: ['measure', 'start', 'end', 'slope/h', 'resolution/h', 'verdict'],
    style: { head: [], border: [] },
  });
  for (const { name, unit, start, end, slope_per_hour, resolution_per_hour, verdict } of trends) {
    const resolution = resolution_per_hour === null ? '' : resolution_per_hour.toFixed(1);
    table.push([
      `${name} ${unit}`.trim(),
      start.toFixed(1),
      end.toFixed(1),
      slope_per_hour?.toFixed(1) ?? '',
      resolution,
      verdict,
    ]);
  }
  return table.toString();
}

function rulingTable(rulings: readonly Ruling[]): string {
  const table = new Table({ head: ['', 'invariant', 'looked at', 'violations'], style: { head: [], border: [] } });
  for (const { invariant, says, looked_at, violations } of rulings)
    table.push([invariant, says, looked_at, violations.length]);
  return table.toString();
}
