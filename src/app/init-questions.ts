/** The questions of `puente init`: each answer is checked at once; settings given as options are skipped. */
import { cancel, confirm, intro, isCancel, log, note, password, select, spinner, text } from '@clack/prompts';
import { complaintAbout, settingOf } from '../config/describe.ts';
import { VENDOR_URL } from '../config/schema.ts';
import { PuenteError } from '../error.ts';
import { RESERVED_NAMES, type Role, roles } from '../ops/api/person.ts';
import { CERTIFICATE, type InitOrder, KEY, refusedPair, refusedUser, textOf, tryHere, tryServer } from './init-here.ts';

const NEEDED = 'It is needed.';
const ROLE_HINTS: Readonly<Record<Role, string>> = {
  viewer: 'reads',
  operator: 'also changes and moves merchants',
  approver: 'also approves moves, and may override missing evidence',
  rollback: 'of a program: rolls back by alert, and nothing else',
};

/** Returns the order with the operator's answers. @throws PuenteError refused when the operator cancels. */
export async function ask(given: InitOrder): Promise<InitOrder> {
  const order = { ...given, settings: { ...given.settings }, secrets: { ...given.secrets } };
  intro('puente init: a configuration for a real installation');
  note(
    `It goes to ${order.into}. Nothing is written before the last question; Ctrl-C cancels.\nEvery answer can be changed in the file afterwards.`,
    'Before you begin',
  );
  await askDoor(order);
  if (order.secrets['webhook.secret'] === undefined) await askSecret(order, 'webhook.secret');
  await askSetting(order, 'merchants.notice_url');
  await askStore(order);
  if (order.people.length === 0) order.people = await askPeople(order);
  if (order.user === null && !order.elsewhere) order.user = await askUser();
  const summary = [
    ...Object.entries(order.settings).map(([name, value]) => `${name}: ${value}`),
    ...order.people.map(({ name, role }) => `ops.tokens: ${name} (${role})`),
  ];
  note(summary.join('\n'), 'Settings');
  if (!(await answered(confirm({ message: 'Write them?' })))) leave();
  return order;
}

async function askDoor(order: InitOrder): Promise<void> {
  const { settings } = order;
  await askSetting(order, 'upstream');
  if (settings.upstream !== 'sandbox') await askSetting(order, 'legacy_upstream');
  await askSetting(order, 'public.url');
  const question = { message: CERTIFICATE_QUESTION, initialValue: settings[KEY] !== undefined };
  if (settings[CERTIFICATE] === undefined && (await answered(confirm(question)))) await askSetting(order, CERTIFICATE);
  if (settings[CERTIFICATE] !== undefined) await askSetting(order, KEY);
  await askSetting(order, 'public.host');
  await askSetting(order, 'public.port');
  const { 'ops.port': port = '' } = usual(settings);
  if (settings['ops.port'] === undefined && (await tryHere('ops.port', port, order)) !== null)
    await askSetting(order, 'ops.port', '', ` (${port} is taken)`);
}

const CERTIFICATE_QUESTION =
  'Does Puente terminate TLS itself? (no: a proxy in front of it does; tills that hard-code the vendor need a certificate for its name)';

async function askStore(order: InitOrder): Promise<void> {
  if (isNamed(order, 'postgres.url_file') || order.secrets['postgres.url'] !== undefined) return;
  const engine = await answered(
    select({
      message: 'Where does Puente store its data?',
      options: [
        { value: 'sqlite', label: 'In a file', hint: 'one process on one host; move to a server later at any time' },
        { value: 'postgres', label: 'On a PostgreSQL server', hint: 'any number of processes and hosts' },
      ],
    }),
  );
  await (engine === 'sqlite' ? askSetting(order, 'data_dir') : askServer(order));
}

/** A server that does not answer is told at once: it is tried again, named otherwise, or left for later. */
async function askServer(order: InitOrder): Promise<void> {
  for (let next = 'other'; next !== 'on'; ) {
    if (next === 'other') await askSecret(order, 'postgres.url');
    const { 'postgres.url': url = '' } = order.secrets;
    if (order.elsewhere) return;
    const waiting = spinner();
    waiting.start('Asking the server');
    const wrong = await tryServer(url);
    waiting.stop(wrong === null ? 'The server takes this user.' : 'The server was checked.');
    if (wrong === null) return;
    log.error(wrong);
    next = await answered(
      select({
        message: 'What now?',
        options: [
          { value: 'again', label: 'Try it again' },
          { value: 'other', label: 'Name another address' },
          { value: 'on', label: 'Go on with it', hint: 'no start succeeds before the server takes it' },
        ],
      }),
    );
  }
}

async function askUser(): Promise<string | null> {
  const name = await answered(
    text({
      message: 'Which system user runs Puente? (empty: the one that you are now)',
      validate: (given = '') => refusedUser(given.trim()) ?? undefined,
    }),
  );
  return (name ?? '').trim() || null;
}

async function askPeople(order: InitOrder): Promise<InitOrder['people']> {
  if (isNamed(order, 'ops.token_file')) return [];
  const many = await answered(
    select({
      message: 'Who operates Puente?',
      options: [
        { value: false, label: 'One person, or one team with one token' },
        {
          value: true,
          label: 'Several people',
          hint: 'each with a name in the audit, a role, and a token of their own',
        },
      ],
    }),
  );
  const people: InitOrder['people'] = [];
  while (many && (people.length === 0 || (await answered(confirm({ message: 'Another person?' }))))) {
    const name = await answered(text({ message: 'Name?', validate: (value = '') => wrongName(value, people) }));
    const options = roles.map((value) => ({ value, label: value, hint: ROLE_HINTS[value] }));
    people.push({ name, role: await answered(select({ message: `Role of ${name}?`, options })) });
  }
  return people;
}

function wrongName(name: string, people: InitOrder['people']): string | undefined {
  if (people.some((one) => one.name === name)) return `${name} is named already.`;
  if (complaintAbout('ops.tokens', tokensOf([{ name, role: roles[0] }])) === null) return undefined;
  return `A name begins with a letter and has 40 letters, digits, dots, hyphens and underscores at most (not ${RESERVED_NAMES.join(' or ')}).`;
}

/** The setting `ops.tokens` with placeholders for tokens: for checking names and roles. */
export function tokensOf(people: InitOrder['people']): string {
  return JSON.stringify(Object.fromEntries(people.map(({ name, role }) => [name, { role, token: 'x'.repeat(32) }])));
}

/** True when an option gives the setting, so that the question is skipped. */
function isNamed({ settings }: InitOrder, name: string): boolean {
  if (settings[name] !== undefined) log.info(`${name}: ${settings[name]}`);
  return settings[name] !== undefined;
}

/** Asks for a setting that has no value yet; an empty answer leaves an optional one unset. */
async function askSetting(
  order: InitOrder,
  name: string,
  initialValue = usual(order.settings)[name] ?? '',
  why = '',
): Promise<void> {
  if (isNamed(order, name)) return;
  const { question = name, is_optional } = settingOf(name)?.init ?? {};
  const complaint = async (value: string): Promise<string | undefined> => {
    if (value === '') return is_optional ? undefined : NEEDED;
    const pair = name === KEY ? { ...order.settings, [KEY]: value } : {};
    return complaintAbout(name, value) ?? refusedPair(pair) ?? (await tryHere(name, value, order)) ?? undefined;
  };
  const answer = text({ message: question + why, initialValue, validate: (value = '') => complaint(value.trim()) });
  const value = ((await answered(answer)) ?? '').trim();
  if (value !== '') order.settings[name] = value;
}

/** Asks for a secret, masked, unless an option gives it or the file of it; an empty answer leaves an optional one unset. */
async function askSecret(order: InitOrder, name: string): Promise<void> {
  if (isNamed(order, `${name}_file`)) return;
  const { question = name, is_optional } = settingOf(name)?.init ?? {};
  const complaint = (value: string) => (value === '' && !is_optional ? NEEDED : complaintAbout(name, value));
  const value = await answered(
    password({ message: question, validate: (given = '') => complaint(given) ?? undefined }),
  );
  if (value) order.secrets[name] = value;
}

/** What settings are without an answer or an option. @param settings those that are known. */
export function usual(settings: InitOrder['settings']): Record<string, string> {
  const { upstream = VENDOR_URL, legacy_upstream = upstream } = settings;
  // With a certificate tills reach Puente directly; without one a TLS proxy is in front, mostly on the same machine.
  const is_direct = settings[CERTIFICATE] !== undefined;
  return {
    upstream,
    // With the sandbox, legacy is the sandbox's own, which is no base URL.
    ...(upstream === 'sandbox' ? {} : { legacy_upstream }),
    'public.host': is_direct ? '0.0.0.0' : textOf({}, 'public.host'),
    'public.port': is_direct ? '443' : textOf({}, 'public.port'),
    'ops.port': textOf({}, 'ops.port'),
  };
}

async function answered<Value>(asked: Promise<Value>): Promise<Exclude<Value, symbol>> {
  const value = await asked;
  if (isCancel(value)) leave();
  return value as Exclude<Value, symbol>; // the only symbol is that of a cancel, handled above
}

function leave(): never {
  cancel('Canceled.');
  throw new PuenteError('refused', 'Nothing was written.');
}
