/** `puente completion`: shell completion, made from the commands themselves. */
import { Argument, type Command } from 'commander';
import { bashScript } from './completion/bash.ts';
import { fishScript } from './completion/fish.ts';
import { nodesOf } from './completion/tree.ts';
import { zshScript } from './completion/zsh.ts';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
type Shell = keyof typeof scripts;
const shells = Object.keys(scripts) as Shell[]; // the keys of the line above

export function addCompletionCommands(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and their values')
    .addArgument(new Argument('<shell>', 'the shell that reads it').choices(shells))
    .addHelpText(
      'after',
      `
Whoever types \`npx puente\` gives it a name of its own first, which is then completed: alias puente='npx puente'

Example:
  bash:  source <(puente completion bash)
  zsh:   puente completion zsh > "\${fpath[1]}/_puente"
  fish:  puente completion fish > ~/.config/fish/completions/puente.fish`,
    )
    .action((shell: Shell) => {
      process.stdout.write(scripts[shell](nodesOf(program)));
    });
}
