/** Makes a capture of many varied exchanges with the sandbox, for `puente assess`, `puente replay` and their tests. */
import { Command, Option } from 'commander';
import { makeCapture } from './make-capture/run.ts';

const options = new Command('npx node scripts/make-capture.ts')
  .description('Lets the till scripts sell through Puente with capture on, and writes what was captured.')
  .requiredOption('--output <file>', 'where the capture goes, JSON lines')
  .option('--exchanges <number>', 'calls of tills at least', '10000')
  .addOption(new Option('--stage <stage>', 'of all merchants').choices(['shadow', 'orders']).default('shadow'))
  .option('--seed <number>', 'the same seed makes the same sales', '1')
  .parse()
  .opts<{ output: string; exchanges: string; seed: string; stage: 'shadow' | 'orders' }>();

const show = process.stderr.isTTY === true;
const { counts } = await makeCapture({
  exchanges: Number(options.exchanges),
  seed: Number(options.seed),
  output: options.output,
  stage: options.stage,
  onProgress: (calls) => void (show && process.stderr.write(`\r${calls} calls`)),
});
process.stdout.write(`${JSON.stringify({ output: options.output, ...counts }, null, 2)}\n`);
