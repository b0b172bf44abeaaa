/** Completion for bash: finds the command that has been typed, then offers its words. */
import { type CommandNode, quoted } from './tree.ts';

export function bashScript(nodes: readonly CommandNode[]): string {
  const known = nodes.filter(({ at }) => at !== '').map(({ at }) => quoted(at));
  return `# Completion of puente for bash: source <(puente completion bash)
_puente() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" at='' words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at/\${COMP_WORDS[i]}" in
      ${known.join('|')}) at="$at/\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at $before" in
${nodes.flatMap(valueCases).join('\n')}
    *)
      case "$at" in
${nodes.map(wordCase).join('\n')}
      esac
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _puente puente
`;
}

/** After an option that takes a value: its choices, or the shell's own file names. */
function valueCases({ at, options }: CommandNode): string[] {
  return options
    .filter(({ takes_value }) => takes_value)
    .map(({ flags, choices }) => {
      const places = flags.map((flag) => quoted(`${at} ${flag}`)).join('|');
      return `    ${places}) words=${quoted(choices.join(' '))} ;;`;
    });
}

function wordCase({ at, commands, options, values }: CommandNode): string {
  const words = [...commands.map(({ word }) => word), ...values, ...options.flatMap(({ flags }) => flags)];
  return `        ${quoted(at)}) words=${quoted(words.join(' '))} ;;`;
}
