/** `puente init`: asks for the settings of a real installation and writes a configuration that explains each one. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { isEnough, roles } from '../api/person.ts';
import { secretOf } from './environment.ts';
import { withManual } from './help.ts';
import {
  ask,
  type InitOrder,
  type InitOutcome,
  type Installer,
  type LoadInstaller,
  tokensOf,
  USUAL_OPS_PORT,
  usualAddress,
  VENDOR_URL,
  wrongUser,
} from './init-questions.ts';
import { aligned, launcher, quoted } from './next-steps.ts';
import { type Output, print } from './output.ts';

interface InitOptions extends Output {
  into: string;
  yes?: boolean;
  force?: boolean;
  webhookSecret?: boolean;
  postgres?: boolean;
  person?: InitOrder['people'];
  user?: string;
  elsewhere?: boolean;
  set?: [string, string][];
  [setting: string]: unknown;
}

const SETTINGS: readonly (readonly [flags: string, setting: string, about: string])[] = [
  ['--upstream <url>', 'upstream', `base URL of the orders API (usual: ${VENDOR_URL})`],
  ['--legacy-upstream <url>', 'legacy_upstream', 'base URL of the legacy API (usual: as --upstream)'],
  ['--public-url <url>', 'public.url', 'how tills and the vendor reach Puente; needed with --yes'],
  ['--public-host <address>', 'public.host', 'where to listen (usual: 0.0.0.0 with a certificate, else 127.0.0.1)'],
  ['--public-port <port>', 'public.port', 'port to listen on (usual: 443 with a certificate, else 8080)'],
  [
    '--tls-certificate <file>',
    'public.tls.certificate_file',
    'certificate chain, PEM; without it Puente speaks plain HTTP',
  ],
  ['--tls-key <file>', 'public.tls.key_file', 'private key of the certificate, PEM'],
  ['--data-dir <directory>', 'data_dir', 'where the database lies (usual: `data` beside the configuration)'],
  ['--notify <url>', 'merchants.notice_url', 'where notices of merchants without a URL of their own go'],
];

const NOTES = `
At a terminal it asks for settings without an option, and checks each answer as the settings are checked. It writes puente.yaml, with
the reason of each setting above it, and each secret into a file of its own in the folder secrets, for this user alone: the
key that seals stored secrets, a token for each person of the ops door, and what --webhook-secret and --postgres take from the
environment. No argument holds a secret, because arguments show in process lists. Nothing is written when something is refused.
Answers and options are tried on this machine: ports, addresses, folders, certificates and the database; --elsewhere leaves that
out. With --user the files belong to root and the group of that user, who may read them (mode 0640), and its data folder is made.
Run by another user than root, it prints the commands that do this.`;

export function addInitCommand(program: Command, load: LoadInstaller): void {
  const init = program
    .command('init')
    .description('write the configuration of a real installation, asking for what it needs')
    .option('--into <directory>', 'folder of the configuration and its secrets', 'installation');
  for (const [flags, , about] of SETTINGS) init.option(flags, about);
  init
    .option('--webhook-secret', 'take the secret of the order webhook from PUENTE_WEBHOOK_SECRET')
    .option('--postgres', 'keep everything on the PostgreSQL server that PUENTE_POSTGRES_URL names')
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
    .action((options: InitOptions) => run(options, init, load));
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

async function run(options: InitOptions, command: Command, load: LoadInstaller): Promise<void> {
  const is_silent = options.yes === true || options.json === true;
  if (!is_silent && !(process.stdin.isTTY && process.stdout.isTTY))
    command.error('error: there is no terminal to ask at; give --yes, and the answers as options (--help lists them)');
  const installer = await load();
  const said = orderOf(options, command);
  installer.refuseUnwritable(said.into);
  installer.refuseOverwriting(said);
  const given = is_silent ? asUsual(said) : said;
  const refused = [...complaintsAbout(said, installer), ...(await refusalsHere(given, installer))];
  refuse([...refused, ...(is_silent ? incomplete(given, installer) : [])], command);
  const order = is_silent ? given : await ask(given, installer);
  refuse(incomplete(order, installer), command);
  const outcome = installer.write(order);
  print(options, outcome, text(outcome, order));
}

/** All at once, so that one correction is enough. */
function refuse(complaints: readonly string[], command: Command): void {
  if (complaints.length > 0) command.error(complaints.map((one) => `error: ${one}`).join('\n'));
}

/** What settings lack together, once no question is left. */
function incomplete({ settings }: InitOrder, installer: Installer): string[] {
  const [chain, key] = [settings['public.tls.certificate_file'], settings['public.tls.key_file']];
  const wrong = chain === undefined || key === undefined ? null : installer.checkPair(chain, key);
  return [
    ...(settings['public.url'] === undefined && settings.upstream !== 'sandbox'
      ? ['--public-url is needed: tills, the vendor and receivers of notices reach Puente by it']
      : []),
    ...((chain === undefined) !== (key === undefined) ? ['--tls-certificate and --tls-key go together'] : []),
    ...(wrong === null ? [] : [wrong]),
  ];
}

/** One sentence for each option that has the form of its setting and that this machine refuses. With a default in it, only where no questions are asked. */
async function refusalsHere(order: InitOrder, installer: Installer): Promise<string[]> {
  const { settings, force, elsewhere, postgres_url, user } = order;
  if (elsewhere) return [];
  const wrong = await Promise.all(
    Object.entries(settings).map(async ([setting, text]) => {
      const is_tried = text !== '' && installer.check(setting, text) === null;
      const complaint = is_tried ? await installer.tryHere({ setting, text, settings, force }) : null;
      return complaint === null ? [] : [`${setting} is refused. ${complaint}`];
    }),
  );
  const is_url = postgres_url !== null && installer.check('postgres.url', postgres_url) === null;
  const server = is_url ? await installer.tryServer(postgres_url) : null;
  const nobody = user === null ? undefined : wrongUser(user, installer);
  return [
    ...wrong.flat(),
    ...(server === null
      ? []
      : [`postgres.url is refused. ${server} Repair that, or write it unasked with --elsewhere.`]),
    ...(nobody === undefined ? [] : [nobody]),
  ];
}

function orderOf(options: InitOptions, command: Command): InitOrder {
  const named = SETTINGS.flatMap(([flags, setting]): [string, string][] => {
    const value = options[new Option(flags).attributeName()];
    return typeof value === 'string' ? [[setting, value]] : [];
  });
  const fromEnvironment = (is_asked: boolean | undefined, variable: string): string | null => {
    if (is_asked !== true) return null;
    const value = secretOf(variable);
    if (value === null) command.error(`error: set ${variable} first; arguments show in process lists`);
    return value;
  };
  return {
    into: options.into,
    force: options.force === true,
    settings: Object.fromEntries([...named, ...(options.set ?? [])]),
    webhook_secret: fromEnvironment(options.webhookSecret, 'PUENTE_WEBHOOK_SECRET'),
    postgres_url: fromEnvironment(options.postgres, 'PUENTE_POSTGRES_URL'),
    people: options.person ?? [],
    user: options.user ?? null,
    elsewhere: options.elsewhere === true,
  };
}

/** Fills in the defaults when no questions are asked. */
function asUsual(order: InitOrder): InitOrder {
  const { upstream = VENDOR_URL, legacy_upstream = upstream } = order.settings;
  const { host, port } = usualAddress(order.settings['public.tls.certificate_file'] !== undefined);
  const usual = { upstream, 'public.host': host, 'public.port': port, 'ops.port': USUAL_OPS_PORT };
  // With the sandbox, legacy is the sandbox's own, which is no base URL.
  const legacy = upstream === 'sandbox' ? {} : { legacy_upstream };
  return { ...order, settings: { ...usual, ...legacy, ...order.settings } };
}

/** One sentence for each option that the configuration would refuse. */
function complaintsAbout(
  { settings, people, webhook_secret, postgres_url }: InitOrder,
  installer: Installer,
): string[] {
  const texts: [string, string][] = [...Object.entries(settings), ['ops.tokens', tokensOf(people)]];
  if (webhook_secret !== null) texts.push(['webhook.secret', webhook_secret]);
  if (postgres_url !== null) texts.push(['postgres.url', postgres_url]);
  const secrets = Object.keys(settings).filter((name) => installer.isSecret(name));
  const twice = [
    { option: '--webhook-secret', said: webhook_secret, file: 'webhook.secret_file' },
    { option: '--postgres', said: postgres_url, file: 'postgres.url_file' },
  ].filter(({ said, file }) => said !== null && (settings[file] ?? '') !== '');
  return [
    ...twice.map(({ option, file }) => `${option} and --set ${file}=… both give it; keep one of them`),
    ...secrets.map((name) => `${name} is a secret; name the file that holds it, with --set ${name}_file=…`),
    ...texts.flatMap(([name, text]) => {
      const complaint = installer.check(name, text);
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
      [as_user, 'and in another shell:'],
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
function opsUrlOf({
  'ops.host': host = '127.0.0.1',
  'ops.port': port = USUAL_OPS_PORT,
}: InitOrder['settings']): string {
  if (port === '0') return '…   # the ops door that the start prints';
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
