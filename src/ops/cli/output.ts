/** What the commands on a running Puente share: their common options, and output for people or scripts. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type OpsAddress, USUAL_OPS_URL } from './ops-client.ts';

/** What the exit codes of all commands mean; 2 is also what wrong usage gives. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  blocked: 3,
  inconclusive: 4,
  broken_chain: 5,
  changed: 6,
} as const;

export interface Output extends OpsAddress {
  json?: boolean;
}

export function common(command: Command): Command {
  return command
    .option('--json', 'print JSON')
    .addOption(new Option('--ops <url>', 'the ops door').env('PUENTE_OPS_URL').default(USUAL_OPS_URL));
}

/** Prints JSON for scripts, or the text for people. */
export function print(options: Output, value: unknown, text: string): void {
  process.stdout.write(options.json ? `${escaped(JSON.stringify(value, null, 2))}\n` : `${plain(text)}\n`);
}

/** JSON that can't either: of the control characters it escapes only those below a space by itself. */
function escaped(json: string): string {
  return json.replaceAll(UNSEEN, (one) =>
    one === '\n' ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Control characters, and those that turn the direction of text or end a line. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text that can't drive a terminal: what a till sent may hold control characters (`reliability.md` F132). */
export function plain(text: string): string {
  return text.replaceAll(UNSEEN, (one) => (one === '\n' ? one : '?'));
}

/** The same for a text that stands in one line: what a till sent can't begin a line of its own. */
export function oneLine(text: string): string {
  return plain(text).replaceAll('\n', '?');
}

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('a whole number is needed');
  return Number(text);
}
