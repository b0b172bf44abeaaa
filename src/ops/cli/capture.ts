/** `puente capture`: keep a merchant's exchanges with their redacted messages, and take them home as a file. */
import type { Command } from 'commander';
import type { MerchantView } from '../merchants/merchant-view.ts';
import type { CallView } from '../trace/call.ts';
import { callOps, streamOps } from './ops-client.ts';
import { common, type Output, print } from './output.ts';
import { startProgress } from './progress.ts';
import { save } from './save.ts';

interface SwitchOptions extends Output {
  reason: string;
}

interface ExportOptions extends Output {
  merchant?: string;
  since?: string;
  until?: string;
  captured?: boolean;
  output?: string;
}

export function addCaptureCommands(program: Command): void {
  const capture = program.command('capture').description('keep exchanges with their redacted messages; take them home');
  for (const word of ['on', 'off'] as const) {
    common(
      capture
        .command(`${word} <merchant>`)
        .description(word === 'on' ? 'keep the messages of its calls from now on' : 'keep no more messages'),
    )
      .requiredOption('--reason <text>', 'why, for the audit trail')
      .addHelpText('after', `\nExample:\n  puente capture ${word} 700100200 --reason "before the move of June"`)
      .action((merchant: string, options: SwitchOptions) => switchCapture(merchant, word === 'on', options));
  }
  common(capture.command('show <exchange>').description('one call, with its messages when they were captured'))
    .addHelpText('after', '\nExample:\n  puente capture show 0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10')
    .action(showCall);
  common(capture.command('export').description('exchanges as a file of JSON lines, for assess and replay'))
    .option('--merchant <id>', 'of this merchant alone')
    .option('--since <instant>', 'of calls that came then or later, such as 2026-01-31T09:00:00Z')
    .option('--until <instant>', 'of calls that came before then')
    .option('--captured', 'only those whose messages were kept')
    .option('--output <file>', 'where to; without it standard output')
    .addHelpText(
      'after',
      `
Tokens, secrets, card numbers and fields about people (such as payers) are taken out when a call is captured.
References and texts that a till gave its sales stay, because replay needs them, and may name people.
The last line says how many exchanges there are: a file without it was cut.

Example:
  puente capture export --merchant 700100200 --since 2026-01-01T00:00:00Z --output january.jsonl
  puente replay january.jsonl --against tables`,
    )
    .action(exportCapture);
}

async function switchCapture(merchant: string, on: boolean, options: SwitchOptions): Promise<void> {
  const path = `/api/merchants/${encodeURIComponent(merchant)}`;
  const { revision } = (await callOps(options, 'GET', path)) as MerchantView; // the API's own shape
  const changed = await callOps(options, 'PUT', path, { capture: on, reason: options.reason, revision });
  const said = on
    ? `Calls of ${merchant} are captured from now on. Take them home: puente capture export --merchant ${merchant} --output FILE`
    : `Calls of ${merchant} are not captured any more; what was captured stays until it is too old (evidence.messages_kept_ms).`;
  print(options, changed, said);
}

async function showCall(id: string, options: Output): Promise<void> {
  const call = (await callOps(options, 'GET', `/api/exchanges/${encodeURIComponent(id)}`)) as CallView; // the API's own shape
  const { at, operation, lane, status, error, duration_ms, messages } = call;
  const head = `${at} ${operation ?? 'unknown endpoint'} on ${lane}: ${status}${error === null ? '' : ` ${error}`} after ${duration_ms} ms`;
  const kept = messages === null ? 'Its messages were not kept: puente capture on <merchant> keeps later ones.' : null;
  print(options, call, `${head}\n${kept ?? JSON.stringify(messages, null, 2)}`);
}

async function exportCapture(options: ExportOptions): Promise<void> {
  const { merchant, since, until, captured, output } = options;
  const asked = Object.entries({ merchant, since, until, captured }).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(asked.map(([name, value]): [string, string] => [name, String(value)]));
  const progress = startProgress(options, 'exporting');
  const pieces = streamOps(options, 'GET', `/api/exchanges?${query}`);
  await save(pieces, output ?? null, progress);
  if (output !== undefined) process.stderr.write(`The capture is in ${output}.\n`);
}
