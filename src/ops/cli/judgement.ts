/** A judged move as people read it: what changes, what it touches, and what is missing with the command that gives it. */
import type { Judgement } from '../moves/judge.ts';
import type { Preview } from '../moves/preview.ts';
import { tableOf } from './table.ts';

/** Units that are shown; `--json` has more. */
const SHOWN_UNITS = 20;
const SHOWN_REFUSALS = 5;

export function judgementText({ allowed, kind, missing, needs, overridden, preview }: Judgement): string {
  const verdict = allowed ? (needs === 'approval' ? 'allowed, once a second person agrees' : 'allowed') : 'refused';
  const lines = [
    `${kind === 'same' ? 'no move' : `move ${kind}`}: ${verdict}${overridden ? ', by override' : ''}`,
    ...preview.changes.map((change) => `  ${change}`),
    previewText(preview),
  ];
  if (missing.length > 0)
    lines.push(
      tableOf(
        ['missing', 'what', 'command'],
        missing.map(({ code, what, command }) => [code, what, command ?? '']),
      ),
    );
  if (needs === 'override') lines.push('An approver can do without what is missing, with --override.');
  return lines.join('\n');
}

export function previewText(preview: Preview): string {
  const facts: [string, string | number][] = [
    ['units seen', preview.units_seen],
    ['units that change side now', preview.units_now],
    ['units that change side later', preview.units_later],
    ['calls a day', preview.calls_a_day],
    ['calls a day that change side', preview.calls_a_day_touched],
    ['open on orders', preview.open_on_orders],
    ['open on legacy', preview.open_on_legacy],
    ['worst known difference', preview.worst_difference ?? 'none'],
    ['predicted refusals', refusals(preview)],
  ];
  const table = tableOf(['touches', ''], facts);
  if (preview.units.length === 0) return table;
  const units = preview.units.slice(0, SHOWN_UNITS);
  const rows = units.map(({ slot, to, when, why, until }) => [slot, to, when, why ?? '', until ?? '']);
  const count = preview.units_now + preview.units_later - units.length;
  const rest = count > 0 ? `\n${count} more units; --json names them` : '';
  return `${table}\n${tableOf(['unit', 'to', 'when', 'why', 'at the latest'], rows)}${rest}`;
}

function refusals({ predicted_refusals: all }: Preview): string {
  if (all.length === 0) return 'none';
  const shown = all.slice(0, SHOWN_REFUSALS);
  return shown
    .map(({ operation, code, error, count }) => `${operation}: ${code ?? error ?? 'refused'}, ${count} times`)
    .join('\n');
}
