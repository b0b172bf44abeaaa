/** Examples in the help of commands that need no more words than one; the others bring their own. */
import type { Command } from 'commander';

const EXAMPLES: Readonly<Record<string, string>> = {
  'merchants list': '--json',
  'merchants show': '700100200',
  'moves show': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10',
  'moves approve': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10 --reason "looked at the preview with the shop"',
  'moves decline': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10 --reason "not before the holidays"',
  'bulk list': '--json',
  'bulk show': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10',
  'bulk abort': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10 --reason "a till of the chain was updated"',
  'brownout list': '--json',
  'brownout abort': '0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10 --reason "a shop called"',
  'safety show': '700100200',
  'safety reset': '700100200 --kind intents --reason "the outage is over"',
  unknowns: '--merchant 700100200',
  'differences show': '700100200 0a1b2c3d4e5f6071',
};

/** @throws TypeError when a command is not there: an example must not outlive it. */
export function giveExamples(program: Command): void {
  for (const [name, words] of Object.entries(EXAMPLES)) {
    const command = name
      .split(' ')
      .reduce<Command | undefined>((above, word) => above?.commands.find((one) => one.name() === word), program);
    if (command === undefined) throw new TypeError(`there is no command ${name}`);
    command.addHelpText('after', `\nExample:\n  puente ${name} ${words}`);
  }
}
