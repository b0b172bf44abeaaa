/** Completion for zsh: as for bash, with a description beside each word. */
import { type CommandNode, quoted } from './tree.ts';

export function zshScript(nodes: readonly CommandNode[]): string {
  const known = nodes.filter(({ at }) => at !== '').map(({ at }) => quoted(at));
  return `#compdef puente
# Completion of puente for zsh: puente completion zsh > "\${fpath[1]}/_puente"
_puente() {
  local at='' i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case "$at/\${words[i]}" in
      (${known.join('|')}) at="$at/\${words[i]}" ;;
    esac
  done
  case "$at \${words[CURRENT-1]}" in
${nodes.flatMap(valueCases).join('\n')}
  esac
  case "$at" in
${nodes.map(wordCase).join('\n')}
  esac
  _describe 'puente' found
  _files
}
if [[ "$funcstack[1]" == _puente ]]; then _puente "$@"; else compdef _puente puente; fi
`;
}

function valueCases({ at, options }: CommandNode): string[] {
  return options
    .filter(({ takes_value }) => takes_value)
    .map(({ flags, choices }) => {
      const places = flags.map((flag) => quoted(`${at} ${flag}`)).join('|');
      const offer = choices.length === 0 ? '_files' : `compadd -- ${choices.map(quoted).join(' ')}`;
      return `    (${places}) ${offer}; return ;;`;
    });
}

function wordCase({ at, commands, options, values }: CommandNode): string {
  const described = [
    ...commands.map(({ word, about }) => describedWord(word, about)),
    ...values.map((value) => quoted(value)),
    ...options.flatMap(({ flags, about }) => flags.map((flag) => describedWord(flag, about))),
  ];
  return `    (${quoted(at)}) found=(${described.join(' ')}) ;;`;
}

/** A colon parts word and description, so one in the word is escaped. */
function describedWord(word: string, about: string): string {
  return quoted(`${word.replaceAll(':', '\\:')}:${about}`);
}
