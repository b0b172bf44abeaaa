/** Output of commands: tables, JSON, files that appear only when complete, and progress on standard error. */
import { isUtf8 } from 'node:buffer';
import { createWriteStream, readFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import Table from 'cli-table3';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { wrapAnsi } from 'fast-wrap-ansi';
import { codeOf, PuenteError } from '../../error.ts';
import { factText } from '../../locales/message.ts';
import { timeText } from '../../locales/words.ts';
import { type OpsAddress, USUAL_OPS_URL } from './ops-client.ts';

/** The mapping tables of this build. */
export const MAPPINGS = join(import.meta.dirname, '../../..', 'mappings');

export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  blocked: 3,
  inconclusive: 4,
  broken_chain: 5,
  changed: 6,
} as const;

/** How a command about one merchant ends: `failed` for one that was never seen. An older Puente does not say. */
export const ofOneMerchant = {
  exits: { done: 'shown', failed: 'the merchant was never seen, or the command failed' },
  exit: ({ unseen }: { unseen?: string | null }): number =>
    typeof unseen === 'string' ? exitCodes.failed : exitCodes.done,
};

export interface Output extends OpsAddress {
  json?: boolean;
}

/** Adds the options of every command that calls the ops door. */
export function common(command: Command): Command {
  return command
    .option('--json', 'print JSON')
    .addOption(new Option('--ops <url>', 'the ops door').env('PUENTE_OPS_URL').default(USUAL_OPS_URL));
}

/** To standard output, with `--json` the value, else the text in which nothing can drive the terminal. */
export function print(options: Output, value: unknown, text: string): void {
  process.stdout.write(
    options.json ? `${escapedJson(JSON.stringify(value, null, 2))}\n` : `${plain(withTimes(text))}\n`,
  );
}

/** The text of a refusal, on one or more lines of a terminal. */
export function refusalText({ message }: PuenteError): string {
  return plain(withTimes(message));
}

/** Instants as people read them; those of options, and examples, stay as a command takes them. */
function withTimes(text: string): string {
  return text.replaceAll(INSTANT, (instant) => timeText(instant));
}

const INSTANT = /(?<!--[\w-]+[ =]|such as )\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g;

/** `JSON.stringify` escapes only control characters below U+0020; this escapes the rest of `UNSEEN`. */
function escapedJson(json: string): string {
  return json.replaceAll(UNSEEN, (one) =>
    one === '\n' ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Control characters, and characters that change the text direction or end a line. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text that can't drive a terminal: a till may send control characters (`test/faults/README.md` F132). */
export function plain(text: string): string {
  return text.replaceAll(UNSEEN, (one) => (one === '\n' ? one : '?'));
}

/** As `plain`, and in one line: a till's text can't begin a new line. */
export function oneLine(text: string): string {
  return plain(text).replaceAll('\n', '?');
}

/** A merchant in a cell: its id, and its name below; empty without an id. */
export function withName(id: string | null, name: string | null): string {
  return name === null ? (id ?? '') : `${id}\n${oneLine(name)}`;
}

/** A merchant in a sentence. */
export function namedAs(id: string, name: string | null): string {
  return name === null ? id : `${id} (${oneLine(name)})`;
}

/** As `withName`; empty for a line of no merchant. */
export function merchantCell(line: { merchant_id: string | null; merchant_name: string | null }): string {
  return withName(line.merchant_id, line.merchant_name);
}

/** `1 line`, `2 lines`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** Digits only. @throws InvalidArgumentError, which commander prints as wrong usage. */
export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('A whole number is needed.');
  return Number(text);
}

/** An instant for the API, also as commands and pages show it: `2026-01-31 09:00:05 UTC`. */
export function instantText(text: string): string {
  return text.replace(/^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d+)?) UTC$/, '$1T$2Z');
}

/** `5` or `2.5`; the API checks the range. */
export function percent(text: string): number {
  if (!/^\d{1,3}(\.\d{1,2})?%?$/.test(text)) throw new InvalidArgumentError('A percentage such as 5 or 2.5 is needed.');
  return Number(text.replace('%', ''));
}

// Tables and hanging text: without colours, and no wider than the terminal.

type Cell = string | number | null | undefined;
/** By heading: a field of the row, or a function of the row. */
export type Columns<Row> = Readonly<Record<string, keyof Row | ((row: Row) => Cell)>>;

/** Null is an empty cell. */
export function table<Row>(columns: Columns<NoInfer<Row>>, rows: readonly Row[]): string {
  const cells = Object.values(columns);
  const cellOf = (row: Row, cell: Columns<Row>[string]): string =>
    String((typeof cell === 'function' ? cell(row) : row[cell]) ?? '');
  return tableOf(
    Object.keys(columns),
    rows.map((row) => cells.map((cell) => cellOf(row, cell))),
  );
}

/** A table, or `none` for an empty list. */
export function listed<Row>(none: string, columns: Columns<NoInfer<Row>>): (rows: readonly Row[]) => string {
  return (rows) => (rows.length === 0 ? none : table(columns, rows));
}

/** Two columns: each field of an object, and its value; `none` for an empty one. */
export function facts(value: object): string {
  return tableOf(
    ['fact', 'value'],
    Object.entries(value).map(([name, one]) => [name, factText(one) || 'none']),
  );
}

/** Narrowest column: a number or a state still fits on one line. */
const NARROWEST = 12;
/** A word up to this length is kept whole, so that it can be copied: an id, or the name of a terminal. */
const WHOLE = 36;
/** Of a cell, both sides together. */
const PADDING = 2;

/**
 * Wraps cells, cuts nothing off; where the columns have no room beside one another, each row is a few lines of its own.
 * @param width columns of the terminal; infinite for pipes and files.
 */
export function tableOf(head: string[], rows: readonly (string | number)[][], width: number = terminalWidth()): string {
  const cells = [head, ...rows.map((row) => row.map((cell) => withTimes(String(cell))))];
  const available = width - head.length * (PADDING + 1) - 1;
  const widest = (of: (text: string) => number): number[] =>
    head.map((_, column) => cells.reduce((most, row) => Math.max(most, of(row[column] ?? '')), 0));
  const room = fitted(widest(textWidth), widest(longestWord), available);
  const is_narrow = room.reduce((sum, one) => sum + one, 0) > available;
  if (is_narrow && head.length > 2) return rowsOf(cells, width);
  const widths = is_narrow ? fitted(room, [], available) : room;
  const [first = [], ...rest] = cells.map((row) => row.map((text, column) => wrapped(text, widths[column] ?? 0)));
  const table = new Table({ head: first, style: { head: [], border: [] } });
  for (const row of rest) table.push(row);
  return table.toString();
}

/** Cells with their headings, as many on a line as fit, the later lines of a row indented; empty ones are left out. Only between two cells is there more than one space, so that none imitates another. */
function rowsOf([head = [], ...rows]: readonly string[][], width: number): string {
  const textOf = (row: readonly string[]): string => {
    const lines: string[] = [];
    for (const [column, text] of row.entries()) {
      if (text === '') continue;
      const cell = `${head[column]}: ${text.trim().replaceAll(/\s+/g, ' ')}`;
      const line = `${lines.at(-1) ?? ''}   ${cell}`;
      if (lines.length > 0 && line.length <= width - 2) lines[lines.length - 1] = line;
      else lines.push(wrapAnsi(cell, Math.max(1, width - 4), { hard: true, trim: true }).replaceAll('\n', '\n    '));
    }
    return lines.join('\n  ');
  };
  return rows.map((row) => `${textOf(row)}\n`).join('\n');
}

/** Begins all lines after the first with `margin`. Does not wrap when `width` leaves less than `NARROWEST`. */
export function hanging(text: string, margin: string, width: number = terminalWidth()): string {
  const available = width - margin.length;
  const lines =
    available < NARROWEST || available === Number.POSITIVE_INFINITY ? text : wrapAnsi(text, available, { trim: true });
  return lines.replaceAll('\n', `\n${margin}`);
}

function terminalWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns || Number.POSITIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/** Shrinks the widest columns until all fit, or each is at its `least`, and never below `NARROWEST`. */
function fitted(widths: readonly number[], least: readonly number[], available: number): number[] {
  const room = [...widths];
  for (let over = room.reduce((sum, one) => sum + one, 0) - available; over > 0; over--) {
    const open = room.map((one, column) => (one > Math.max(least[column] ?? 0, NARROWEST) ? one : 0));
    const column = open.indexOf(Math.max(...open));
    if (open[column] === 0) break;
    room[column] = (room[column] ?? 0) - 1;
  }
  return room;
}

/** Of the words that are kept whole. */
function longestWord(text: string): number {
  return text.split(/\s/).reduce((most, { length }) => (length > WHOLE ? most : Math.max(most, length)), 0);
}

function wrapped(text: string, width: number): string {
  return textWidth(text) <= width ? text : wrapAnsi(text, width, { hard: true, trim: true });
}

function textWidth(text: string): number {
  return Math.max(...text.split('\n').map((line) => line.length));
}

/** Reads a whole file; `-` is standard input. @throws PuenteError bad_request with `repair`; for a file that is not UTF-8. */
export function readInput(file: string, repair: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file === '-' ? STANDARD_INPUT : file);
  } catch (cause) {
    throw new PuenteError('bad_request', `${file} can't be read: ${repair}.`, { cause });
  }
  if (!isUtf8(bytes)) throw new PuenteError('bad_request', `${file} is not UTF-8: save it as UTF-8, and repeat this.`);
  return bytes.toString();
}

const STANDARD_INPUT = 0;

// Saving a long answer: to a file that appears only when it is complete, or to standard output.

/**
 * Writes with backpressure. @param file null is standard output. @returns characters written.
 * @throws PuenteError bad_request when the file can't be written; errors of `pieces` pass through and leave no file.
 */
export async function save(pieces: AsyncIterable<string>, file: string | null, progress: Progress): Promise<number> {
  let written = 0;
  const counted = async function* (): AsyncGenerator<string> {
    for await (const piece of pieces) {
      written += piece.length;
      progress.tell(`${sizeOf(written)} received`);
      yield piece;
    }
  };
  try {
    if (file === null) await pipeline(Readable.from(counted()), process.stdout, { end: false });
    else await toFile(Readable.from(counted()), file);
  } finally {
    progress.end();
  }
  return written;
}

/** A partial file has another name, so that it is not taken for a complete one. */
async function toFile(source: Readable, file: string): Promise<void> {
  const partial = `${file}.${process.pid}.partial`;
  try {
    await pipeline(source, createWriteStream(partial, { flags: 'wx', mode: 0o600 }));
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    if (error instanceof PuenteError) throw error;
    const code = codeOf(error);
    const message = `${file} can't be written (${code}); name a file in a directory of yours.`;
    throw new PuenteError('bad_request', message, { cause: error });
  }
}

function sizeOf(characters: number): string {
  return characters < 1_000_000 ? `${Math.ceil(characters / 1000)} kB` : `${(characters / 1_000_000).toFixed(1)} MB`;
}

// Progress on standard error: on a terminal one line that changes, elsewhere a new line every few seconds.

/** People read no faster. */
const TERMINAL_PAUSE_MS = 100;
/** Shows in a log that the work goes on, without filling the log. */
const PLAIN_PAUSE_MS = 3_000;
const CLEAR_LINE = '\r\u001b[K';

interface Progress {
  /** Shows progress in a few words; call it as often as you like, the output is limited. */
  tell(news: string): void;
  /** Clears the line before the result is printed. */
  end(): void;
}

/** Standard error; tests replace it. */
interface ProgressTarget {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** Prints nothing with `--json`. @param label the work, such as `reconciling`. */
export function startProgress(
  options: Output,
  label: string,
  target: ProgressTarget = process.stderr,
  now: () => number = Date.now,
): Progress {
  if (options.json === true) return { tell: () => undefined, end: () => undefined };
  const is_terminal = target.isTTY === true;
  const pause_ms = is_terminal ? TERMINAL_PAUSE_MS : PLAIN_PAUSE_MS;
  // Work that ends within one pause prints nothing.
  let last_at = now();
  let is_shown = false;
  return {
    tell(news) {
      if (now() - last_at < pause_ms) return;
      last_at = now();
      is_shown = is_terminal;
      target.write(is_terminal ? `${CLEAR_LINE}${label}: ${news}` : `${label}: ${news}\n`);
    },
    end() {
      if (is_shown) target.write(CLEAR_LINE);
      is_shown = false;
    },
  };
}
