/** Tables and hanging text for people: without colours, and no wider than the terminal they are read on. */
import Table from 'cli-table3';
import { wrapAnsi } from 'fast-wrap-ansi';

/** A column is never made narrower: a number or a state still stands on one line. */
const NARROWEST = 12;
/** Of a cell, on both sides of its text. */
const PADDING = 2;

/** @param width columns of the terminal; pipes and files have no end. Nothing is cut off: cells get more lines. */
export function tableOf(head: string[], rows: (string | number)[][], width: number = terminalWidth()): string {
  const cells = [head, ...rows.map((row) => row.map(String))];
  const widths = fitted(
    head.map((_, column) => cells.reduce((widest, row) => Math.max(widest, textWidth(row[column] ?? '')), 0)),
    width - head.length * (PADDING + 1) - 1,
  );
  const [first = [], ...rest] = cells.map((row) => row.map((text, column) => wrapped(text, widths[column] ?? 0)));
  const table = new Table({ head: first, style: { head: [], border: [] } });
  for (const row of rest) table.push(row);
  return table.toString();
}

/**
 * Text whose lines after the first begin with a margin.
 * @param width columns of the terminal, the margin with them; where little is left, lines end where the text says.
 */
export function hanging(text: string, margin: string, width: number = terminalWidth()): string {
  const room = width - margin.length;
  const lines = room < NARROWEST || room === Number.POSITIVE_INFINITY ? text : wrapAnsi(text, room, { trim: true });
  return lines.replaceAll('\n', `\n${margin}`);
}

function terminalWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns || Number.POSITIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/** Takes from the widest until all have room, or nothing more can be taken. */
function fitted(widths: readonly number[], room: number): number[] {
  const sum = widths.reduce((total, one) => total + one, 0);
  const widest = Math.max(...widths);
  if (sum <= room || widest <= NARROWEST) return [...widths];
  const others = widths.filter((one) => one < widest);
  const count = widths.length - others.length;
  const next = Math.max(NARROWEST, ...others);
  const share = Math.floor((room - others.reduce((total, one) => total + one, 0)) / count);
  return fitted(
    widths.map((one) => (one === widest ? Math.min(widest - 1, Math.max(next, share)) : one)),
    room,
  );
}

function wrapped(text: string, width: number): string {
  return textWidth(text) <= width ? text : wrapAnsi(text, width, { hard: true, trim: false });
}

function textWidth(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length));
}
