/** `puente completion`: shell completion, generated from the command tree. */
import { Argument, type Command, Option } from 'commander';
import { folded } from '../../mapping/near.ts';
import type { MerchantView } from '../merchants.ts';
import { commandsOf, withManual } from './help.ts';
import { quoted } from './next-steps.ts';
import { callOps, type OpsAddress, USUAL_OPS_URL } from './ops-client.ts';
import { oneLine } from './output.ts';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
type Shell = keyof typeof scripts;
const shells = Object.keys(scripts) as Shell[]; // the keys of `scripts`

/** The scripts describe the program as it is when one is printed, so the order of the commands does not matter. */
export function addCompletionCommand(program: Command): void {
  const command = program
    .command('completion')
    .description('print a script that completes commands, options and their values')
    .addArgument(new Argument('<shell>', 'the shell that reads it').choices(shells))
    .option('--merchants <word>', 'print the merchants that the word may mean instead, as the scripts do')
    .addOption(new Option('--ops <url>', 'the ops door').env('PUENTE_OPS_URL').default(USUAL_OPS_URL))
    .action(async (shell: Shell, { merchants, ops }: { merchants?: string; ops: string }) => {
      process.stdout.write(
        merchants === undefined ? scripts[shell](nodesOf(program)) : await merchantsLike(merchants, { ops }),
      );
    });
  withManual(command, {
    notes: `
A merchant is completed by its id, from the running Puente that PUENTE_OPS_URL and PUENTE_OPS_TOKEN name; its name is shown
beside it. A part of the name may be typed instead. Without a Puente that answers in time, no merchant is offered.
For \`npx puente\`, first define an alias, which is then completed: alias puente='npx puente'`,
    examples: [
      'bash:  source <(puente completion bash)',
      `zsh:   puente completion zsh > "\${fpath[1]}/_puente"`,
      'fish:  puente completion fish > ~/.config/fish/completions/puente.fish',
    ],
  });
}

/** A person who waits for the Tab key has typed the id by then. */
const PATIENCE_MS = 1_500;
/** More than a terminal shows. */
const MOST_OFFERED = 50;

/** Lines of id, tab and name; none when no Puente answers, whatever the reason. */
async function merchantsLike(word: string, address: OpsAddress): Promise<string> {
  const search = word.trim().slice(0, 64);
  const query = new URLSearchParams({ search });
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await callOps(address, { method: 'GET', path: `/api/merchants?${query}`, signal });
    return (answer as { merchants: MerchantView[] }).merchants // the API's shape
      .filter(({ id, name }) => id.startsWith(search) || folded(name ?? '').includes(folded(search)))
      .slice(0, MOST_OFFERED)
      .map(({ id, name }) => `${id}\t${oneLine(name ?? '')}\n`)
      .join('');
  } catch {
    return ''; // an error would be printed into the line that is being typed
  }
}

// Reading words, options and their values from the commands.

interface Word {
  word: string;
  about: string;
}

interface OptionWords {
  /** Such as `--json` and `-h`. */
  flags: string[];
  about: string;
  takes_value: boolean;
  /** Empty when any value may follow. */
  choices: readonly string[];
  is_merchant: boolean;
}

interface CommandNode {
  /** Path of names, such as `/merchants/list`; '' is `puente` itself. */
  at: string;
  commands: Word[];
  options: OptionWords[];
  /** Values of arguments with a closed list. */
  values: string[];
  /** A merchant follows the command. */
  is_merchant: boolean;
}

/** Names of arguments and options that take merchants. */
const MERCHANTS: readonly string[] = ['merchant', 'merchants'];

/** The program and all its commands, parents first. */
export function nodesOf(program: Command): CommandNode[] {
  return [{ name: '', command: program }, ...commandsOf(program)].map(({ name, command }) => ({
    at: name === '' ? '' : `/${name.replaceAll(' ', '/')}`,
    commands: command.commands.map((one) => ({ word: one.name(), about: one.description() })),
    options: [...command.options.map(optionWords), help],
    values: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    is_merchant: MERCHANTS.includes(command.registeredArguments[0]?.name() ?? ''),
  }));
}

const help: OptionWords = {
  flags: ['-h', '--help'],
  about: 'show the help',
  takes_value: false,
  choices: [],
  is_merchant: false,
};

function optionWords(option: Command['options'][number]): OptionWords {
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    about: option.description,
    takes_value: option.required || option.optional,
    choices: option.argChoices ?? [],
    is_merchant: MERCHANTS.includes(option.name()) && option.required,
  };
}

/** Where a merchant is typed: the command and the word before it, as patterns for bash and zsh. */
function merchantPlaces(nodes: readonly CommandNode[]): string {
  const places = nodes.flatMap(({ at, is_merchant, options }) => [
    ...(is_merchant ? [`${at} ${at.split('/').at(-1)}`] : []),
    ...options.filter((option) => option.is_merchant).flatMap(({ flags }) => flags.map((flag) => `${at} ${flag}`)),
  ]);
  return places.length === 0 ? "''" : places.map(quoted).join('|');
}

/** Options with a value, as patterns for bash and zsh; without choices the shell offers file names. */
function valuesIn(
  nodes: readonly CommandNode[],
): { places: string; choices: readonly string[]; is_merchant: boolean }[] {
  return nodes.flatMap(({ at, options }) =>
    options
      .filter(({ takes_value }) => takes_value)
      .map(({ flags, choices, is_merchant }) => {
        return { places: flags.map((flag) => quoted(`${at} ${flag}`)).join('|'), choices, is_merchant };
      }),
  );
}

/** For bash 4 and later; the script asks `puente completion bash --merchants` for ids. */
export function bashScript(nodes: readonly CommandNode[]): string {
  const known = nodes.filter(({ at }) => at !== '').map(({ at }) => quoted(at));
  return `# Completion of puente for bash: source <(puente completion bash)
_puente() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" at='' words='' merchants=() by_name='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at/\${COMP_WORDS[i]}" in
      ${known.join('|')}) at="$at/\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at $before" in
${valuesIn(nodes)
  .map(({ places, choices }) => `    ${places}) words=${quoted(choices.join(' '))} ;;`)
  .join('\n')}
    *)
      case "$at" in
${nodes.map(wordCase).join('\n')}
      esac
      ;;
  esac
  case "$at $before" in
    ${merchantPlaces(nodes)}) [[ "$word" == -* ]] || merchants=yes ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [[ -n "$merchants" ]] || return
  mapfile -t merchants < <(puente completion bash --merchants "$word" 2>/dev/null)
  # Of several by name, the common beginning of their ids would replace the name that was typed.
  for i in "\${merchants[@]}"; do [[ "$i" == "$word"* ]] || by_name=yes; done
  if [[ -n "$by_name" ]] && ((\${#merchants[@]} > 1)); then
    COMPREPLY+=("\${merchants[@]/$'\\t'/ }" ' ')
  else
    COMPREPLY+=("\${merchants[@]%%$'\\t'*}")
  fi
}
complete -o default -F _puente puente
`;
}

function wordCase({ at, commands, options, values }: CommandNode): string {
  const words = [...commands.map(({ word }) => word), ...values, ...options.flatMap(({ flags }) => flags)];
  return `        ${quoted(at)}) words=${quoted(words.join(' '))} ;;`;
}

/** Removes completions of `puente` that fish knew before. */
export function fishScript(nodes: readonly CommandNode[]): string {
  const known = nodes.filter(({ at }) => at !== '').map(({ at }) => fishQuoted(at));
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
function __puente_merchants
  type -q puente; or return
  set -l word (string unescape -- (commandline -ct))
  set -l here (string escape --style=regex -- "$word")
  # fish offers what contains the typed word: a name that has it without case and accents gets it added.
  for line in (puente completion fish --merchants "$word" 2>/dev/null)
    string match -qr -- $here $line; and echo $line; or echo "$line ($word)"
  end
end
complete -c puente -e
${nodes.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ at, commands, options, values, is_merchant }: CommandNode): string[] {
  const here = `complete -c puente -n ${fishQuoted(`__puente_at "${at}"`)}`;
  const merchants = fishQuoted('(__puente_merchants)');
  return [
    ...(is_merchant ? [`${here} -f -a ${merchants}`] : []),
    ...commands.map(({ word, about }) => `${here} -f -a ${fishQuoted(word)} -d ${fishQuoted(about)}`),
    ...(values.length === 0 ? [] : [`${here} -f -a ${fishQuoted(values.join(' '))}`]),
    ...options.map(({ flags, about, takes_value, choices, is_merchant: has_merchant }) => {
      const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
      if (has_merchant) return `${here} ${names.join(' ')} -x -a ${merchants} -d ${fishQuoted(about)}`;
      const value = takes_value ? (choices.length === 0 ? ' -r' : ` -x -a ${fishQuoted(choices.join(' '))}`) : '';
      return `${here} ${names.join(' ')}${value} -d ${fishQuoted(about)}`;
    }),
  ];
}

/** Fish escapes quotes and backslashes within single quotes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** To be saved as `_puente` in a directory of `fpath`. */
export function zshScript(nodes: readonly CommandNode[]): string {
  const known = nodes.filter(({ at }) => at !== '').map(({ at }) => quoted(at));
  return `#compdef puente
# Completion of puente for zsh: puente completion zsh > "\${fpath[1]}/_puente"
_puente_merchants() {
  local id name
  local -a ids shown
  while IFS=$'\\t' read -r id name; do
    ids+=("$id")
    shown+=("$id\${name:+ ($name)}")
  done < <(puente completion zsh --merchants "$PREFIX" 2>/dev/null)
  (( \${#ids} )) && compadd -U -d shown -- $ids
}
_puente() {
  local at='' i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case "$at/\${words[i]}" in
      (${known.join('|')}) at="$at/\${words[i]}" ;;
    esac
  done
  case "$at \${words[CURRENT-1]}" in
    (${merchantPlaces(nodes)}) [[ "$PREFIX" == -* ]] || _puente_merchants ;;
  esac
  case "$at \${words[CURRENT-1]}" in
${valuesIn(nodes)
  .map(({ places, choices, is_merchant }) => `    (${places}) ${is_merchant ? '' : `${offerOf(choices)}; `}return ;;`)
  .join('\n')}
  esac
  case "$at" in
${nodes.map(zshWordCase).join('\n')}
  esac
  _describe 'puente' found
  _files
}
if [[ "$funcstack[1]" == _puente ]]; then _puente "$@"; else compdef _puente puente; fi
`;
}

function offerOf(choices: readonly string[]): string {
  return choices.length === 0 ? '_files' : `compadd -- ${choices.map(quoted).join(' ')}`;
}

function zshWordCase({ at, commands, options, values }: CommandNode): string {
  const described = [
    ...commands.map(({ word, about }) => describedWord(word, about)),
    ...values.map((value) => quoted(value)),
    ...options.flatMap(({ flags, about }) => flags.map((flag) => describedWord(flag, about))),
  ];
  return `    (${quoted(at)}) found=(${described.join(' ')}) ;;`;
}

/** A colon separates word and description, so a colon in the word is escaped. */
function describedWord(word: string, about: string): string {
  return quoted(`${word.replaceAll(':', '\\:')}:${about}`);
}
