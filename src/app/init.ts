/** `puente init`: asks for the settings of a real installation and writes a configuration that explains each one. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { complaintAbout, describeSettings, settingOf } from '../config/describe.ts';
import { isEnough, roles } from '../ops/api/person.ts';
import { secretOf } from '../ops/cli/environment.ts';
import { withManual } from '../ops/cli/help.ts';
import { aligned, launcher, quoted } from '../ops/cli/next-steps.ts';
import { type Output, print } from '../ops/cli/output.ts';
import { CERTIFICATE, type InitOrder, KEY, refusedPair, refusedUser, textOf, tryHere, tryServer } from './init-here.ts';
import { ask, tokensOf, usual } from './init-questions.ts';
import { type InitOutcome, refuseOverwriting, refuseUnwritable, writeInstallation } from './init-write.ts';

interface InitOptions extends Output {
  into: string;
  yes?: boolean;
  force?: boolean;
  person?: InitOrder['people'];
  user?: string;
  elsewhere?: boolean;
  set?: [string, string][];
  [setting: string]: unknown;
}

const NOTES = `
At a terminal it asks for settings without an option, and checks each answer as the settings are checked. It writes puente.yaml, with
the reason of each setting above it, and each secret into a file of its own in the folder secrets, for this user alone: the
key that seals stored secrets, a token for each person of the ops door, and what --webhook-secret and --postgres take from the
environment. No argument holds a secret, because arguments show in process lists. Nothing is written when something is refused.
Answers and options are tried on this machine: ports, addresses, folders, certificates and the database; --elsewhere leaves that
out. With --user the files belong to root and the group of that user, who may read them (mode 0640), and its data folder is made.
Run by another user than root, it prints the commands that do this.`;

/** Adds arguments, help and action to the command: an option for each setting that has one in the schema. */
export function fillInit(init: Command): void {
  init.option('--into <directory>', 'folder of the configuration and its secrets', 'installation');
  for (const setting of describeSettings()) if (setting.init?.option) init.option(...setting.init.option);
  init
    .option(
      '--person <name:role>',
      `a person who may use the ops door, with their own token (${roles.join(', ')}); may be repeated`,
      person,
    )
    .option('--user <name>', 'the system user that runs Puente, and may read the files')
    .option('--elsewhere', 'the configuration is for another machine: try nothing of this one')
    .option('--set <name=value>', 'any other setting, such as ops.port=9081; may be repeated', nameAndValue)
    .option('--yes', 'ask nothing: settings without an option get their defaults')
    .option('--force', 'write over a configuration that is there; keys and tokens stay as they are')
    .option('--json', 'print JSON; asks nothing, as --yes')
    .action((options: InitOptions) => run(options, init));
  withManual(init, {
    notes: NOTES,
    examples: [
      'puente init',
      'puente init --into /etc/puente --yes --public-url https://puente.shop.example --tls-certificate door.pem --tls-key door.key',
      'puente init --into /etc/puente --user puente --data-dir /var/lib/puente',
    ],
    exits: {
      done: 'written',
      failed: 'not written: something is there already, or the settings contradict each other',
    },
    variables: [
      ['PUENTE_WEBHOOK_SECRET', 'with --webhook-secret: the secret'],
      ['PUENTE_POSTGRES_URL', 'with --postgres: the address of the database'],
    ],
  });
}

async function run(options: InitOptions, command: Command): Promise<void> {
  const is_silent = options.yes === true || options.json === true;
  if (!is_silent && !(process.stdin.isTTY && process.stdout.isTTY))
    command.error('error: there is no terminal to ask at; give --yes, and the answers as options (--help lists them)');
  const said = orderOf(options, command);
  refuseUnwritable(said.into);
  refuseOverwriting(said);
  // Defaults, when no questions are asked.
  const given = is_silent ? { ...said, settings: { ...usual(said.settings), ...said.settings } } : said;
  const refused = [...complaintsAbout(said), ...(await refusalsHere(given))];
  refuse([...refused, ...(is_silent ? incomplete(given) : [])], command);
  const order = is_silent ? given : await ask(given);
  refuse(incomplete(order), command);
  const outcome = writeInstallation(order);
  print(options, outcome, text(outcome, order));
}

/** All at once, so that one correction is enough. */
function refuse(complaints: readonly string[], command: Command): void {
  if (complaints.length > 0) command.error(complaints.map((one) => `error: ${one}`).join('\n'));
}

/** What settings lack together, once no question is left. */
function incomplete({ settings }: InitOrder): string[] {
  const wrong = refusedPair(settings);
  return [
    ...(settings['public.url'] === undefined && settings.upstream !== 'sandbox'
      ? ['--public-url is needed: tills, the vendor and receivers of notices reach Puente by it']
      : []),
    ...((settings[CERTIFICATE] === undefined) !== (settings[KEY] === undefined)
      ? ['--tls-certificate and --tls-key go together']
      : []),
    ...(wrong === null ? [] : [wrong]),
  ];
}

/** One sentence for each option that has the form of its setting and that this machine refuses. With a default in it, only where no questions are asked. */
async function refusalsHere(order: InitOrder): Promise<string[]> {
  if (order.elsewhere) return [];
  const tried = Object.entries(order.settings).map(async ([setting, text]) => {
    const is_tried = text !== '' && complaintAbout(setting, text) === null;
    const complaint = is_tried ? await tryHere(setting, text, order) : null;
    return complaint === null ? [] : [`${setting} is refused. ${complaint}`];
  });
  const wrong = (await Promise.all(tried)).flat();
  const { 'postgres.url': url } = order.secrets;
  const server = url === undefined || complaintAbout('postgres.url', url) !== null ? null : await tryServer(url);
  if (server !== null)
    wrong.push(`postgres.url is refused. ${server} Repair that, or write it unasked with --elsewhere.`);
  const nobody = refusedUser(order.user ?? '');
  return nobody === null ? wrong : [...wrong, nobody];
}

function orderOf(options: InitOptions, command: Command): InitOrder {
  const settings: InitOrder['settings'] = {};
  const secrets: InitOrder['secrets'] = {};
  for (const { path, variable, init } of describeSettings()) {
    const given = init?.option === undefined ? undefined : options[new Option(init.option[0]).attributeName()];
    if (typeof given === 'string') settings[path] = given;
    // Arguments show in process lists, so that the option of a secret only says where to take it from.
    if (given === true)
      secrets[path] =
        secretOf(variable) ?? command.error(`error: set ${variable} first; arguments show in process lists`);
  }
  return {
    into: options.into,
    force: options.force === true,
    settings: { ...settings, ...Object.fromEntries(options.set ?? []) },
    secrets,
    people: options.person ?? [],
    user: options.user ?? null,
    elsewhere: options.elsewhere === true,
  };
}

/** One sentence for each option that the configuration would refuse. */
function complaintsAbout({ settings, people, secrets }: InitOrder): string[] {
  const twice = Object.keys(secrets).filter((name) => (settings[`${name}_file`] ?? '') !== '');
  const named = Object.keys(settings).filter((name) => settingOf(name)?.secret);
  const texts = [...Object.entries(settings), ['ops.tokens', tokensOf(people)] as const, ...Object.entries(secrets)];
  return [
    ...twice.map(
      (name) => `${settingOf(name)?.init?.option?.[0]} and --set ${name}_file=… both give it; keep one of them`,
    ),
    ...named.map((name) => `${name} is a secret; name the file that holds it, with --set ${name}_file=…`),
    ...texts.flatMap(([name, text]) => {
      const complaint = complaintAbout(name, text);
      return complaint === null ? [] : [`${name} is refused. ${complaint}`];
    }),
  ];
}

function nameAndValue(text: string, before: [string, string][] = []): [string, string][] {
  const [name = '', ...value] = text.split('=');
  if (value.length === 0) throw new InvalidArgumentError('A name and a value are needed, as in ops.port=9081.');
  return [...before, [name, value.join('=')]];
}

function person(text: string, before: InitOrder['people'] = []): InitOrder['people'] {
  const [name = '', given, ...rest] = text.split(':');
  const role = roles.find((one) => one === given);
  if (role === undefined || rest.length > 0)
    throw new InvalidArgumentError(`A name and a role are needed, as in ana:viewer; roles: ${roles.join(', ')}.`);
  if (before.some((one) => one.name === name)) throw new InvalidArgumentError(`${name} is named twice.`);
  return [...before, { name, role }];
}

function text(outcome: InitOutcome, order: InitOrder): string {
  const { config, secrets, kept, missing, commands } = outcome;
  return [
    order.user === null ? 'Written, for this user alone to read:' : `Written, for ${order.user} to read:`,
    `  ${config}: the settings, each with its reason`,
    ...secrets.map(({ path, about }) => `  ${path}: ${about}`),
    ...(kept.length === 0 ? [] : ['Left as they were:', ...kept.map((path) => `  ${path}`)]),
    ...(missing.length === 0 ? [] : ['Still missing:', ...missing.map((what) => `  ${what}`)]),
    ...(commands.length === 0
      ? []
      : [`As root, so that ${order.user} may read them:`, ...commands.map((one) => `  ${one}`)]),
    'Next:',
    ...nextSteps(outcome, order),
  ].join('\n');
}

/** Commands that work from here, and that the person with the token may run. */
function nextSteps({ config, token_file, speaker }: InitOutcome, { user, settings }: InitOrder): string[] {
  const { puente, start } = launcher();
  const as_user = user === null ? start : `as ${user}: PUENTE_CONFIG=${quoted(config)} ${start}`;
  const before = [
    `  export PUENTE_CONFIG=${quoted(config)}`,
    ...aligned([
      [`${puente} doctor --offline`, 'what is missing or wrong, each with its repair'],
      [as_user, 'starts Puente; then in another shell:'],
    ]),
  ];
  if (speaker === null)
    return [
      ...before,
      '  No person may look at it: a rollback token does nothing else. Add one with --person NAME:viewer.',
    ];
  const who = speaker.name === null ? '' : `, as ${speaker.name} (${speaker.role})`;
  const move = [
    `${puente} stage <merchant> shadow --reason "first look"`,
    'its first move: translated on paper alone',
  ] as const;
  return [
    ...before,
    `  export PUENTE_OPS_URL=${opsUrlOf(settings)}`,
    `  export PUENTE_OPS_TOKEN="$(cat ${quoted(token_file)})"`,
    ...aligned([
      [`${puente} doctor`, `the same of the running Puente${who}`],
      [`${puente} merchants list`, 'who has called so far; nothing changes until a merchant is moved'],
      ...(isEnough(speaker.role, 'operator') ? [move] : []),
    ]),
  ];
}

/** The ops door as this machine reaches it. */
function opsUrlOf(settings: InitOrder['settings']): string {
  const [host, port] = [textOf(settings, 'ops.host'), textOf(settings, 'ops.port')];
  if (port === '0') return '…   # the ops door that the start prints';
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
