/** Completion for fish: a line for each word, with the place where it may stand. */
import type { CommandNode } from './tree.ts';

export function fishScript(nodes: readonly CommandNode[]): string {
  const known = nodes.filter(({ at }) => at !== '').map(({ at }) => quoted(at));
  return `# Completion of puente for fish: puente completion fish > ~/.config/fish/completions/puente.fish
function __puente_at
  set -l at ''
  set -l typed (commandline -opc)
  for word in $typed[2..-1]
    switch "$at/$word"
      case ${known.join(' ')}
        set at "$at/$word"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c puente -e
${nodes.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ at, commands, options, values }: CommandNode): string[] {
  const here = `complete -c puente -n ${quoted(`__puente_at "${at}"`)}`;
  return [
    ...commands.map(({ word, about }) => `${here} -f -a ${quoted(word)} -d ${quoted(about)}`),
    ...(values.length === 0 ? [] : [`${here} -f -a ${quoted(values.join(' '))}`]),
    ...options.map(({ flags, about, takes_value, choices }) => {
      const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
      const value = takes_value ? (choices.length === 0 ? ' -r' : ` -x -a ${quoted(choices.join(' '))}`) : '';
      return `${here} ${names.join(' ')}${value} -d ${quoted(about)}`;
    }),
  ];
}

/** Fish escapes quotes and backslashes within single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
