/** Commands and text output of merchants: `puente merchants`, `capture on` and `off`, `erase`. */
import { type Command, InvalidArgumentError } from 'commander';
import { PuenteError } from '../../error.ts';
import { routedKinds } from '../../proxy/routing/merchant.ts';
import { defined } from '../fields.ts';
import type { MerchantView, StageView } from '../merchants.ts';
import type { Erasure } from '../upkeep/erase.ts';
import { exitCodes, listed, tableOf } from './output.ts';
import { callRow, type Face, type Faces, type Fields, face, type Given } from './rows.ts';

export const merchantFaces: Faces = {
  'merchants list': face<MerchantView[]>({
    examples: ['puente merchants list --json'],
    text: listed('No merchant yet: one appears with its first accepted call, or with `puente merchants set`.', {
      merchant: 'id',
      site: ({ site }) => site ?? '?',
      stage: ({ in_force }) => stagesText(in_force),
      'safety stop': ({ in_force }) => stopText(in_force),
      'notices to': ({ settings }) => shown(settings.notice_url),
      dialect: ({ settings }) => shown(settings.dialect),
      'QR notices': ({ settings }) => shown(settings.qr_notices),
      revision: 'revision',
    }),
  }),
  'merchants show': face<MerchantView>({ examples: ['puente merchants show 700100200'], text: merchantDetails }),
  'merchants set': face<MerchantView>({
    about: 'change settings; `default` goes back to the default',
    notes: `
What is not named stays as it is. Secrets are read from the environment, because arguments show in process lists; so is a URL
with a key in it: --notify - reads PUENTE_NOTICE_URL.`,
    examples: [
      'puente merchants set 700100200 --notify https://shop.example/notices --reason "its receiver"',
      'puente merchants set 700100200 --safety-stop armed --reason "before the canary"',
      'puente merchants set 700100200 --sunset 2026-12-31T00:00:00Z --reason "agreed with its till maker"',
    ],
    variables: [
      ['PUENTE_NOTICE_URL', 'with --notify -: the URL'],
      ['PUENTE_NOTICE_SECRET', 'with --notice-secret: the secret'],
      ['PUENTE_CREDENTIAL', "with --credential: the merchant's access token"],
    ],
    flags: { notice_url: 'notify' },
    made: ['cancel_on_terminal', 'deprecation', 'notice_secret', 'credential'],
    more: addSetOptions,
    input: changeOf,
    text: merchantDetails,
  }),
};

function addSetOptions(set: Command): void {
  set
    .option('--notice-secret', 'set its webhook secret from PUENTE_NOTICE_SECRET')
    .option('--credential', 'set its access token from PUENTE_CREDENTIAL')
    .option('--cancel-on-terminal', 'let a cancel reach an order that is on the terminal')
    .option('--no-cancel-on-terminal', 'refuse it, as legacy did')
    .option('--deprecated <instant>', 'send its tills a Deprecation header, such as 2026-06-30T00:00:00Z', instant)
    .option('--sunset <instant>', 'send its tills a Sunset header', instant)
    .option('--deprecation-link <url>', 'where its till maker reads more')
    .option('--no-deprecation', 'send its tills neither header');
}

async function changeOf(given: Given): Promise<Fields> {
  const { cancelOnTerminal, noticeSecret, credential } = given.options;
  const { reason, revision, ...named } = given.fields;
  if (named.notice_url === '-') named.notice_url = fromEnvironment('PUENTE_NOTICE_URL');
  if (cancelOnTerminal !== undefined) named.cancel_on_terminal = cancelOnTerminal;
  if (noticeSecret === true) named.notice_secret = fromEnvironment('PUENTE_NOTICE_SECRET');
  if (credential === true) named.credential = fromEnvironment('PUENTE_CREDENTIAL');
  const deprecation = await deprecationOf(given);
  if (deprecation !== undefined) named.deprecation = deprecation;
  if (Object.keys(named).length === 0)
    throw new PuenteError('bad_request', 'Name at least one setting; see puente merchants set --help.');
  return { ...given.fields, ...named };
}

/** The given options over the current setting; null removes the headers. */
async function deprecationOf(given: Given): Promise<Fields | null | undefined> {
  const { deprecation, deprecated: deprecated_at, sunset: sunset_at, deprecationLink: link } = given.options;
  if (deprecation === false) return null;
  const named = defined({ deprecated_at, sunset_at, link });
  if (Object.keys(named).length === 0) return undefined;
  const { settings } = (await callRow('GET /api/merchants/:id', given)) as MerchantView; // the API's own shape
  const before = settings.deprecation?.value;
  return { ...(typeof before === 'object' ? before : {}), ...named };
}

function fromEnvironment(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '')
    throw new PuenteError('bad_request', `Set ${name} to the secret; it is not taken from the command line.`);
  return value;
}

function instant(text: string): number {
  const at = Date.parse(text);
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text) || Number.isNaN(at))
    throw new InvalidArgumentError('an instant such as 2026-01-31T09:00:00Z is needed');
  return at;
}

/** `puente capture on` and `off` change one setting of a merchant. */
export function captureSwitch(on: boolean): Face {
  return face<MerchantView>({
    of: 'merchants set',
    about: on ? 'keep the messages of its calls from now on' : 'keep no more messages',
    examples: [`puente capture ${on ? 'on' : 'off'} 700100200 --reason "before the move of June"`],
    only: ['reason', 'new'],
    input: ({ fields }) => ({ ...fields, capture: on }),
    text: ({ id }) =>
      on
        ? `Calls of ${id} are captured from now on. Export them: puente capture export --merchant ${id} --output FILE`
        : `Calls of ${id} are not captured any more; what was captured stays until it is too old (evidence.messages_kept_ms).`,
  });
}

function merchantDetails(merchant: MerchantView): string {
  const table = tableOf(
    ['setting', 'value', 'from'],
    [
      ...Object.entries(merchant.settings).map(([name, setting]) => [name, shown(setting), setting.from]),
      ['notice_secret', merchant.notice_secret, 'merchant'],
      ['credential', merchant.credential, 'merchant'],
    ],
  );
  const stop = stopText(merchant.in_force);
  const stopped = stop === 'none' ? '' : `\nsafety stop: ${stop}; see puente safety show ${merchant.id}`;
  const head = `merchant ${merchant.id}, site ${merchant.site ?? 'unknown'}, revision ${merchant.revision}`;
  return `${head}\nstage: ${stagesText(merchant.in_force)}${stopped}\n${table}`;
}

/** One stage when all kinds share it, else one per kind. */
export function stagesText(in_force: MerchantView['in_force']): string {
  const texts = routedKinds.map((kind) => stageText(in_force[kind]));
  const [first = ''] = texts;
  if (texts.every((text) => text === first)) return first;
  return routedKinds.map((kind, index) => `${kind}: ${texts[index]}`).join(', ');
}

function stageText({ stage, intended, share }: StageView): string {
  const wanted = intended === 'canary' ? `canary ${share} %` : intended;
  return stage === intended ? wanted : `${stage} (stopped, wants ${wanted})`;
}

function stopText(in_force: MerchantView['in_force']): string {
  const stops = routedKinds.filter((kind) => in_force[kind].trip !== null);
  return stops.length === 0 ? 'none' : `${stops.join(', ')} stopped`;
}

function shown(setting: { value: unknown } | undefined): string {
  const { value = null } = setting ?? {};
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export const eraseFaces: Faces = {
  erase: face<Erasure>({
    about: 'delete everything of a merchant but the decisions about it',
    notes: `
Without --apply it is only counted. Everything of the merchant goes: sales, refunds, notices, exchanges, events, tokens,
settings, sums; lines of bulk moves lose its id. Audit lines stay, with one that says what was erased. Earlier backups still contain it: they are listed;
so do the copies that upgrades and restores left beside the database (puente.db.before-N, puente.db.replaced-...).`,
    examples: ['puente erase 700100200', 'puente erase 700100200 --apply --reason "left us, asked for it in writing"'],
    exits: { done: 'counted or erased', blocked: 'open work is in the way' },
    is_long: true,
    text: erasureText,
    exit: ({ in_the_way, erased }) => (in_the_way.length > 0 && !erased ? exitCodes.blocked : exitCodes.done),
  }),
};

function erasureText({ merchant_id, erased, holdings, in_the_way, backups }: Erasure): string {
  const rows = Object.entries(holdings).map(([kind, count]) => [kind.replaceAll('_', ' '), count]);
  const head = erased ? `Merchant ${merchant_id} is erased.` : `Merchant ${merchant_id} has:`;
  const next =
    in_the_way.length > 0
      ? ['In the way:', ...in_the_way.map((one) => `  ${one}`)]
      : [`Erase it: puente erase ${merchant_id} --apply --reason …`];
  const kept = backups.length === 0 ? [] : [`Earlier backups still contain it: ${backups.join(', ')}`];
  return [head, tableOf(['what', erased ? 'rows gone' : 'rows'], rows), ...(erased ? [] : next), ...kept].join('\n');
}
