/** Commands and text output of merchants: `puente merchants`, `capture on` and `off`, `erase`. */
import { basename } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { factText } from '../../locales/message.ts';
import type { ChangedMerchant, importAnswer, MerchantView, StageView } from '../merchants.ts';
import { shopsIn } from '../moves/typed-lists.ts';
import type { Erasure } from '../upkeep/erase.ts';
import { secretOf } from './environment.ts';
import {
  type Columns,
  exitCodes,
  instantText,
  listed,
  namedAs,
  ofOneMerchant,
  readInput,
  table,
  tableOf,
  withName,
} from './output.ts';
import { callRow, type Face, type Faces, type Fields, type Given } from './rows.ts';

const NO_MERCHANT = 'No merchant yet: one appears with its first accepted call, or with `puente merchants set`.';

const merchants: Columns<MerchantView> = {
  merchant: 'id',
  name: 'name',
  tags: ({ tags }) => tags.join(' '),
  site: ({ site }) => site ?? '?',
  stage: ({ in_force }) => stagesText(in_force),
  'safety stop': ({ in_force }) => stopText(in_force),
  'notices to': ({ settings }) => shown(settings.notice_url),
  dialect: ({ settings }) => shown(settings.dialect),
  'QR notices': ({ settings }) => shown(settings.qr_notices),
  revision: 'revision',
};

export const merchantFaces: Faces = {
  'merchants list': {
    examples: ['puente merchants list --json'],
    text: (all, { fields: { search } }) =>
      listed<MerchantView>(search === undefined ? NO_MERCHANT : 'No merchant matches.', merchants)(all),
  },
  'merchants show': {
    examples: ['puente merchants show 700100200'],
    text: ({ unseen, ...merchant }) => unseen ?? merchantDetails(merchant),
    ...ofOneMerchant,
  },
  'merchants set': {
    about: 'change settings; `default` goes back to the default',
    notes: `
What is not named stays as it is. Secrets are read from the environment, because arguments show in process lists; so is a URL
with a key in it: --notify - reads PUENTE_NOTICE_URL. Each variable with _FILE behind its name gives a file that holds it.`,
    examples: [
      'puente merchants set 700100200 --name "Café Sur" --tags centro wave-1 --reason "as people call it"',
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
    made: ['cancel_on_terminal', 'deprecation', 'point_notice_extra', 'notice_secret', 'credential'],
    more: addSetOptions,
    input: changeOf,
    text: ({ result, ...merchant }) => (result === 'unchanged' ? nothingText(merchant) : merchantDetails(merchant)),
  },
};

type Imported = z.infer<typeof importAnswer>;

export const importFaces: Faces = {
  'merchants import': {
    about: 'set names and tags of many merchants from a file',
    notes: `
A CSV file with a header, or a YAML list with the same fields; a field that is left out stays as it is:
  id,name,tags
  700100200,Café Sur,centro wave-1
  700100300,"Padaria, Centro",centro`,
    examples: [
      'puente merchants import --file shops.csv --dry-run --reason "names of the chain"',
      'puente merchants import --file shops.yaml --reason "names of the chain"',
    ],
    made: ['merchants'],
    more: (command) =>
      void command.requiredOption('--file <path>', 'CSV or YAML with id, name and tags; - reads the input'),
    async input({ fields, options }) {
      const file = String(options.file);
      const text = readInput(file, 'name a CSV or YAML file with id, name and tags');
      return { ...fields, merchants: await shopsIn(text, file === '-' ? 'stdin' : basename(file)) };
    },
    text: importText,
  },
};

function importText({ dry_run, merchants }: Imported): string {
  const rows = merchants.filter(({ result }) => result !== 'same');
  const label = ({ name, tags }: Imported['merchants'][number]['before']): string =>
    [name ?? 'no name', ...tags].join(' ');
  const columns: Columns<Imported['merchants'][number]> = {
    merchant: ({ merchant_id, before }) => withName(merchant_id, before.name),
    what: 'result',
    before: ({ before }) => label(before),
    after: label,
  };
  const sums = `${rows.length} of ${merchants.length} merchants ${dry_run ? 'would be changed' : 'are changed'}`;
  return rows.length === 0 ? sums : `${table(columns, rows)}\n${sums}`;
}

function addSetOptions(set: Command): void {
  set
    .option('--notice-secret', 'set its webhook secret from PUENTE_NOTICE_SECRET')
    .option('--credential', 'set its access token from PUENTE_CREDENTIAL')
    .option('--cancel-on-terminal', 'let a cancel reach an order that is on the terminal')
    .option('--no-cancel-on-terminal', 'refuse it, as legacy did')
    .option(
      '--point-notice-extra <json>',
      'constant keys to add to its Point webhooks, such as {"store_id": "77"}',
      json,
    )
    .option('--deprecated <instant>', 'send its tills a Deprecation header, such as 2026-06-30T00:00:00Z', instant)
    .option('--sunset <instant>', 'send its tills a Sunset header', instant)
    .option('--deprecation-link <url>', 'where its till maker reads more')
    .option('--no-deprecation', 'send its tills neither header');
}

async function changeOf(given: Given): Promise<Fields> {
  const { cancelOnTerminal, noticeSecret, credential, pointNoticeExtra: extra } = given.options;
  const { reason, revision, ...named } = given.fields;
  if (named.notice_url === '-') named.notice_url = fromEnvironment('PUENTE_NOTICE_URL');
  if (cancelOnTerminal !== undefined) named.cancel_on_terminal = cancelOnTerminal;
  if (extra !== undefined) named.point_notice_extra = extra;
  if (noticeSecret === true) named.notice_secret = fromEnvironment('PUENTE_NOTICE_SECRET');
  if (credential === true) named.credential = fromEnvironment('PUENTE_CREDENTIAL');
  const deprecation = await deprecationOf(given);
  if (deprecation !== undefined) named.deprecation = deprecation;
  if (Object.keys(named).length === 0)
    throw new PuenteError('bad_request', 'Name at least one setting; see `puente merchants set --help`.');
  return { ...given.fields, ...named };
}

/** The given options over the current setting; null removes the headers. */
async function deprecationOf(given: Given): Promise<Fields | null | undefined> {
  const { deprecation, deprecated: deprecated_at, sunset: sunset_at, deprecationLink: link } = given.options;
  if (deprecation === false) return null;
  const named = Object.entries({ deprecated_at, sunset_at, link }).filter(([, value]) => value !== undefined);
  if (named.length === 0) return undefined;
  const { settings } = await callRow('GET /api/merchants/:id', given);
  const before = settings.deprecation?.value;
  return { ...(typeof before === 'object' ? before : {}), ...Object.fromEntries(named) };
}

function fromEnvironment(name: string): string {
  const value = secretOf(name);
  if (value === null)
    throw new PuenteError('bad_request', `Set ${name} to the secret; it is not taken from the command line.`);
  return value;
}

/** Null for `default`. */
function json(text: string): unknown {
  if (text === 'default') return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('JSON such as {"store_id": "77"} is needed.');
  }
}

/** Epoch ms. As the API does for other commands, it refuses an instant without a time zone, and a day that does not exist (30 February). */
function instant(typed: string): number {
  const text = instantText(typed);
  const [, day, zone] = /^(\d{4}-\d{2}-\d{2})T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.exec(text) ?? [];
  const at = zone === undefined ? Number.NaN : Date.parse(text);
  if (Number.isNaN(at) || new Date(Date.parse(`${day}T00:00:00Z`)).toISOString().slice(0, 10) !== day)
    throw new InvalidArgumentError('An instant such as 2026-01-31T09:00:00Z is needed.');
  return at;
}

/** `puente capture on` and `off` change one setting of a merchant. */
export function captureSwitch(on: boolean): Face<ChangedMerchant> {
  return {
    of: 'merchants set',
    about: on ? 'keep the messages of its calls from now on' : 'keep no more messages',
    examples: [`puente capture ${on ? 'on' : 'off'} 700100200 --reason "before the move of June"`],
    only: ['reason', 'new'],
    input: ({ fields }) => ({ ...fields, capture: on }),
    text: ({ result, ...merchant }) =>
      result === 'unchanged'
        ? nothingText(merchant)
        : on
          ? `Calls of ${namedAs(merchant.id, merchant.name)} are captured from now on. Export them: puente capture export --merchant ${merchant.id} --output FILE`
          : `Calls of ${namedAs(merchant.id, merchant.name)} are not captured any more; what was captured stays until it is too old (evidence.messages_kept_ms).`,
  };
}

function nothingText({ id, name, revision }: MerchantView): string {
  return `nothing to change: merchant ${namedAs(id, name)} has these settings already, revision ${revision}`;
}

function merchantDetails(merchant: MerchantView): string {
  const table = tableOf(
    ['setting', 'value', 'from'],
    [
      ...Object.entries(merchant.settings).map(([name, setting]) => [name, shown(setting), setting.from]),
      ...(['notice_secret', 'credential'] as const).map((name) => secretRow(name, merchant[name])),
    ],
  );
  const stop = stopText(merchant.in_force);
  const stopped = stop === 'none' ? '' : `\nsafety stop: ${stop}; see \`puente safety show ${merchant.id}\``;
  const head = `merchant ${namedAs(merchant.id, merchant.name)}, site ${merchant.site ?? 'unknown'}, revision ${merchant.revision}`;
  return `${head}\nstage: ${stagesText(merchant.in_force)}${stopped}\n${table}`;
}

function secretRow(name: string, value: MerchantView['credential']): [string, string, string] {
  return [name, value, value === 'set' ? 'merchant' : 'default'];
}

/** One stage when all kinds share it, else one per kind. */
export function stagesText(in_force: MerchantView['in_force']): string {
  const texts = Object.entries(in_force).map(([kind, one]) => [kind, stageText(one)] as const);
  const [[, first] = ['', '']] = texts;
  if (texts.every(([, text]) => text === first)) return first;
  return texts.map(([kind, text]) => `${kind}: ${text}`).join(', ');
}

function stageText({ stage, intended, share }: StageView): string {
  const wanted = intended === 'canary' ? `canary ${share} %` : intended;
  return stage === intended ? wanted : `${stage} (stopped, meant to be ${wanted})`;
}

function stopText(in_force: MerchantView['in_force']): string {
  const stops = Object.entries(in_force).flatMap(([kind, { trip }]) => (trip === null ? [] : kind));
  return stops.length === 0 ? 'none' : `${stops.join(', ')} stopped`;
}

/** Settings have instants in epoch ms. */
function shown(setting: { value: unknown } | undefined): string {
  const { value = null } = setting ?? {};
  if (typeof value !== 'object') return String(value);
  const shown = (name: string, one: unknown) =>
    typeof one === 'number' && /^(from|until|\w+_at)$/.test(name) ? new Date(one).toISOString() : one;
  return factText(JSON.parse(JSON.stringify(value, shown))) || 'none';
}

export const eraseFaces: Faces = {
  erase: {
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
  },
};

function erasureText({ merchant_id, merchant_name, erased, holdings, in_the_way, backups }: Erasure): string {
  const merchant = namedAs(merchant_id, merchant_name);
  const rows = Object.entries(holdings).map(([kind, count]) => [kind.replaceAll('_', ' '), count]);
  const head = erased ? `Merchant ${merchant} is erased.` : `Merchant ${merchant} has:`;
  const next =
    in_the_way.length > 0
      ? ['Held back by:', ...in_the_way.map((one) => `  ${one}`)]
      : [`Erase it: puente erase ${merchant_id} --apply --reason …`];
  const kept = backups.length === 0 ? [] : [`Earlier backups still contain it: ${backups.join(', ')}`];
  return [head, tableOf(['what', erased ? 'rows gone' : 'rows'], rows), ...(erased ? [] : next), ...kept].join('\n');
}
