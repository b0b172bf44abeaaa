/** `puente check` proves the mapping tables; `puente explain` shows how they translate one request. */
import { type Command, Option } from 'commander';
import { withManual } from './help.ts';
import { MAPPINGS, print, readInput } from './output.ts';

export function addMappingCommands(program: Command): void {
  const check = program
    .command('check')
    .description('prove the mapping tables; prints what fails with file and row')
    .addOption(new Option('--mappings <directory>', 'the tables').default(MAPPINGS, 'those of this build'))
    .option('--json', 'print JSON')
    .action(runCheck);
  withManual(check, { examples: ['puente check'], exits: { done: 'all proofs hold', failed: 'a proof fails' } });
  const request = 'a legacy request: HTTP as text, or JSON {method, path, headers, body}; - is standard input';
  const explain = program
    .command('explain')
    .argument('[file]', request, '-')
    .description('show how a legacy request is translated: the upstream request, the rows that fire, what is lost')
    .addOption(new Option('--site <site>', "the merchant's site").default('MLA'))
    .addOption(
      new Option('--voucher <policy>', "the merchant's voucher policy").choices(['refuse', 'drop']).default('refuse'),
    )
    .option('--json', 'print JSON')
    .action(runExplain);
  withManual(explain, {
    examples: [
      `echo '{"method":"POST","path":"/point/integration-api/devices/PAX_A910__SMARTPOS0000000001/payment-intents","body":{"amount":1500}}' | puente explain`,
    ],
    exits: { done: 'translated', failed: 'refused, as the till would be; or not understood' },
  });
}

async function runCheck(options: { mappings: string; json?: boolean }): Promise<void> {
  const [{ check, printFailures }, { readDocuments }] = await Promise.all([
    import('../../mapping/check.ts'),
    import('../../mapping/load.ts'),
  ]);
  const { documents, failures } = readDocuments(options.mappings);
  if (failures.length === 0) failures.push(...check(documents));
  const { revision, tables, operations } = documents;
  const whole = `All proofs hold: ${tables.length} tables, ${operations.length} operations, revision ${revision}.`;
  print(options, { revision, failures }, failures.length > 0 ? printFailures(failures) : whole);
  if (failures.length > 0) process.exitCode = 1;
}

async function runExplain(file: string, options: { site: string; voucher: string; json?: boolean }): Promise<void> {
  const [{ stringifyJson }, { explain }, { loadTables }] = await Promise.all([
    import('../../contract/json.ts'),
    import('../../mapping/explain.ts'),
    import('../../mapping/load.ts'),
  ]);
  const { text, ...found } = explain(
    loadTables(MAPPINGS),
    readInput(file, 'give the path of a file, or - for standard input'),
    {
      site: options.site,
      voucher: options.voucher,
      received_at: Date.now(),
    },
  );
  process.stdout.write(options.json ? `${stringifyJson(found)}\n` : text);
  if (found.refusal !== null) process.exitCode = 1;
}
