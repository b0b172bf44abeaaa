/** What people type and what they see of it, in golden files: one word for each thing that differs from run to run. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { ANA, BEN } from '../../kit.ts';
import { command } from '../moves/command.ts';

/** Text that differs from run to run, such as the path of a folder, and the word for it. */
type Mask = readonly [found: string | RegExp, word: string];

export interface Desk {
  /** The Puente that is called; without one the commands need none. */
  on?: { app: { ops_url: string } };
  env?: Record<string, string>;
  /** Without it commands run in this process, where parts that touch files of a store are refused. */
  run?: typeof command;
  /** Before each command. */
  turn?: () => unknown;
  masks?: () => readonly Mask[];
}

/** Types commands, and notes what a person sees of each. */
export function shift({ on, env = {}, run = command, turn, masks = () => [] }: Desk) {
  const seen: string[] = [];
  const as = async (person: { name: string; token: string }, line: string): Promise<string> => {
    turn?.();
    const door = on === undefined ? {} : { PUENTE_OPS_URL: on.app.ops_url, PUENTE_OPS_TOKEN: person.token };
    const { out, err, code } = await run(wordsOf(line), { ...door, ...env });
    seen.push(`${person.name}$ puente ${line}\n${out}${err}${code === 0 ? '' : `\nexit code ${code}`}`.trimEnd());
    return out;
  };
  const golden = (name: string) =>
    expect(`${masked(seen.join('\n\n'), masks()).trimEnd()}\n`).toMatchFileSnapshot(
      join(import.meta.dirname, 'golden', `${name}.txt`),
    );
  return { as, golden, ana: (line: string) => as(ANA, line), ben: (line: string) => as(BEN, line) };
}

/** The words of a line, as a shell splits it. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
}

/** Commands with all that they print and their exit code, in one golden file: nothing differs from run to run but by `masks`. */
export async function toldBy(
  golden: string,
  lines: readonly (readonly string[])[],
  run: typeof command = command,
  masks: readonly Mask[] = [],
): Promise<void> {
  const told: string[] = [];
  for (const words of lines) {
    const { code, out, err } = await run([...words]);
    told.push(`$ puente ${words.join(' ')}\n${out}${err === '' ? '' : `stderr: ${err.trim()}\n`}exit code ${code}\n`);
  }
  const text = masks.reduce((rest, [found, word]) => rest.replaceAll(found, word), told.join('\n'));
  await expect(text).toMatchFileSnapshot(join(import.meta.dirname, 'golden', `${golden}.txt`));
}

/** Without the lines and the width of tables. */
function masked(text: string, masks: readonly Mask[]): string {
  const ids = new Map<string, string>();
  const numbered = (found: string): string => {
    if (!ids.has(found)) ids.set(found, `ID-${ids.size + 1}`);
    return ids.get(found) ?? '';
  };
  return (
    masks
      .reduce((rest, [found, word]) => rest.replaceAll(found, word), text)
      .replaceAll(/^[┌├└].*(?:\n|$)/gm, '')
      .replaceAll(/^│.*$/gm, (row) => row.replaceAll(/ +/g, ' '))
      .replaceAll(/(?:\d+_)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\bORD[0-9A-Z]{26}\b/g, numbered)
      .replaceAll(/\b[0-9a-f]{64}\b/g, 'HASH')
      .replaceAll(/\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d+)? UTC/g, 'TIME UTC')
      .replaceAll(/\b\d+(?:\.\d)? ms\b/g, 'N ms')
      .replaceAll(/(?<=127\.0\.0\.1:)\d+/g, 'PORT')
      // Upstream says the site of a merchant at a time of its own.
      .replaceAll(/site unknown|site MLA/g, 'site SITE')
      .replaceAll(/│ (?:\?|MLA) │/g, '│ SITE │')
      .replaceAll(/\bpnt[0-9a-f]{32}\b/g, 'REFERENCE')
      // Attempts and their order differ from run to run.
      .replaceAll(/sent (?:once|\d+ times)/g, 'sent N times')
      .replaceAll(/(?:^│ TIME UTC │ (?:till|state|upstream|event|notice|decision) │.*\n)+/gm, (steps) =>
        [...new Set(steps.trim().split('\n'))].sort().join('\n').concat('\n'),
      )
      .replaceAll(/ XXX\b/g, ' ARS')
      .replaceAll(/revision \d+/g, 'revision N')
  );
}
