/** `npm run demo`: a whole migration of four merchants in seconds on a virtual clock, checked; ends with reports. */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { playJourney } from './demo/journey.ts';
import { createTranscript } from './demo/transcript.ts';

const options = new Command('npm run demo --')
  .description('Tells a migration against the sandbox. Exit code 0 when everything was as it should be, else 1.')
  .option('--output <directory>', 'where the reports go (default: a new directory for temporary files)')
  .parse()
  .opts<{ output?: string }>();

const colours = process.stdout.isTTY && !process.env.NO_COLOR;
const transcript = createTranscript((line) => void process.stdout.write(`${line}\n`), colours);
const output = options.output === undefined ? mkdtempSync(join(tmpdir(), 'puente-demo-')) : resolve(options.output);
mkdirSync(output, { recursive: true });
const report = await playJourney(transcript, output);
const holds = transcript.holds();
process.stdout.write(
  `\n${holds ? 'Everything held.' : 'Something did not hold: see ✗ above.'}\nThe report: ${report}\n`,
);
process.exitCode = holds ? 0 : 1;
