/** The end of a proof: one table of promises, checks and violations. */
import Table from 'cli-table3';
import type { Line, Result } from './part.ts';

const MINUTE_MS = 60_000;

/** Narrow enough for a terminal; the sentence of a bug is long. */
const WIDTHS = [10, 62, 30, 12];

export function summaryOf(results: readonly Result[]): string {
  const table = new Table({
    head: ['promise', 'what', 'checked on', 'violations'],
    colWidths: WIDTHS,
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const { promise, what, count, violations } of byPromise(results.flatMap(({ lines }) => lines)))
    table.push([promise, what, count, String(violations)]);
  const took = results.map(({ part, took_ms }) => `${part} ${(took_ms / MINUTE_MS).toFixed(1)} min`);
  const failures = results.flatMap((result) => result.failures);
  return [
    table.toString(),
    ...results.flatMap(({ remarks }) => remarks),
    `Took: ${took.join(' · ')}`,
    ...failures.map((text) => `FAILED: ${text}`),
    failures.length === 0 ? 'Every promise was kept.' : `${failures.length} failures.`,
  ].join('\n');
}

/** P1 to P16, then lines about all promises; lines of one promise in the order of the parts. */
function byPromise(lines: readonly Line[]): Line[] {
  const first = ({ promise }: Line): number => Number(/P(\d+)/.exec(promise)?.[1] ?? Number.MAX_SAFE_INTEGER);
  return lines.toSorted((one, other) => first(one) - first(other));
}

export function jsonOf(results: readonly Result[]): string {
  const violations = results.flatMap(({ lines }) => lines).reduce((sum, line) => sum + line.violations, 0);
  return JSON.stringify(
    { kept: results.every(({ failures }) => failures.length === 0), violations, parts: results },
    null,
    2,
  );
}
