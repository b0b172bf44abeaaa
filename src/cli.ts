#!/usr/bin/env node
/** The command `puente`: the same operations as the ops API, for people (tables) and scripts (`--json`). */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addMappingCommands } from './cli/mapping.ts';
import { addMerchantCommands } from './cli/merchants.ts';
import { addNoticeCommands } from './cli/notices.ts';
import { PuenteError } from './error.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
}; // ours

const program = new Command('puente')
  .version(version)
  .description('Keeps legacy Mercado Pago Point integrations working on the orders API.')
  .addHelpText(
    'after',
    `
Exit codes: 0 done, 1 refused or failed, 2 wrong usage.

Commands on a running Puente (merchants, stage, notices) ask its ops door:
  PUENTE_OPS_URL    where it is (default http://127.0.0.1:8081; --ops wins)
  PUENTE_OPS_TOKEN  its bearer token`,
  )
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));

program
  .command('serve')
  .description('start Puente, as `npm start` does')
  .option('--notify <url>', 'where notices of merchants without a URL of their own go (merchants.notice_url)')
  .action(async (options: { notify?: string }) => {
    const { serve } = await import('./main.ts');
    await serve(
      options.notify === undefined ? process.env : { ...process.env, PUENTE_MERCHANTS_NOTICE_URL: options.notify },
    );
  });

addMappingCommands(program);
addMerchantCommands(program);
addNoticeCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof PuenteError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
