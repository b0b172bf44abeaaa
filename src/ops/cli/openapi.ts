/** `puente openapi`: the description of the ops API that the running Puente gives of itself. */
import type { Command } from 'commander';
import { callOps } from './ops-client.ts';
import { common, type Output } from './output.ts';

export function addOpenApiCommands(program: Command): void {
  common(
    program.command('openapi').description('the OpenAPI 3.1 document of the ops API, for tools and client generators'),
  )
    .addHelpText('after', '\nExample:\n  puente openapi > puente-openapi.json')
    .action(async (options: Output) => {
      const document = await callOps(options, 'GET', '/api/openapi.json');
      process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
    });
}
