/** `puente merchants`: see merchants, and set them; moves have commands of their own. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { PuenteError } from '../../error.ts';
import {
  dialects,
  pointPaymentNotices,
  qrNotices,
  routedKinds,
  safetyModes,
  unknownPolicies,
} from '../../proxy/routing/merchant.ts';
import type { MerchantView, StageView } from '../merchants.ts';
import type { Erasure } from '../upkeep/erase.ts';
import { callOps, type OpsAddress } from './ops-client.ts';
import { common, exitCodes, type Output, print, tableOf, wholeNumber } from './output.ts';

interface SetOptions extends Output {
  reason: string;
  revision?: number;
  notify?: string;
  dialect?: string;
  qrNotices?: string;
  pointPaymentNotices?: string;
  declined?: string;
  cancelOnTerminal?: boolean;
  voucher?: string;
  safetyStop?: string;
  unknownEndpoint?: string;
  unknownField?: string;
  unknownHeader?: string;
  capture?: string;
  deprecated?: number;
  sunset?: number;
  deprecationLink?: string;
  /** False: no headers. */
  deprecation?: boolean;
  noticeSecret?: boolean;
  credential?: boolean;
}

const SET_HELP = `
What is not named stays as it is. Secrets are read from the environment, because arguments show in process lists; so is a URL
with a key in it: --notify - reads PUENTE_NOTICE_URL.

Examples:
  puente merchants set 700100200 --notify https://shop.example/notices --reason "its receiver"
  puente merchants set 700100200 --safety-stop armed --reason "before the canary"
  puente merchants set 700100200 --sunset 2026-12-31T00:00:00Z --reason "told its till maker"`;

export function addMerchantCommands(program: Command): void {
  const merchants = program.command('merchants').description('see and set merchants of a running Puente');
  common(merchants.command('list').description('every merchant seen or set so far, with the stage in force')).action(
    async (options: Output) => {
      const { merchants: all } = (await callOps(options, 'GET', '/api/merchants')) as { merchants: MerchantView[] }; // the API's own shape
      print(options, all, list(all));
    },
  );
  common(merchants.command('show <merchant>').description('one merchant, with where each setting comes from')).action(
    async (id: string, options: Output) => {
      const merchant = await view(options, id);
      print(options, merchant, merchantDetails(merchant));
    },
  );
  const set = common(
    merchants.command('set <merchant>').description('change settings; `default` goes back to the default'),
  )
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option(
      '--revision <number>',
      'refuse unless the merchant is at this revision (default: the current one)',
      wholeNumber,
    )
    .addHelpText('after', SET_HELP)
    .action(async (id: string, options: SetOptions) => {
      const body = await changeOf(id, options);
      const changed = (await callOps(options, 'PUT', `/api/merchants/${encodeURIComponent(id)}`, body)) as MerchantView; // the API's own shape
      print(options, changed, merchantDetails(changed));
    });
  addNoticeOptions(set);
  addTillOptions(set);
  addMigrationOptions(set);
}

function addNoticeOptions(set: Command): void {
  set
    .option('--notify <url>', 'where its notices go; - reads PUENTE_NOTICE_URL')
    .addOption(choice('--dialect <name>', 'form of its Point notices', dialects))
    .addOption(choice('--qr-notices <form>', 'how its QR sales are told from now on', qrNotices))
    .addOption(
      choice(
        '--point-payment-notices <which>',
        'whether its Point sales are told by topic payment too, from now on',
        pointPaymentNotices,
      ),
    )
    .option('--notice-secret', 'set its webhook secret from PUENTE_NOTICE_SECRET')
    .option('--credential', 'set its access token from PUENTE_CREDENTIAL');
}

function addTillOptions(set: Command): void {
  set
    .addOption(choice('--declined <policy>', 'how a declined payment shows', ['error', 'finished']))
    .option('--cancel-on-terminal', 'let a cancel reach an order that is on the terminal')
    .option('--no-cancel-on-terminal', 'refuse it, as legacy did')
    .addOption(choice('--voucher <policy>', 'what a voucher preference does', ['refuse', 'drop']));
}

function addMigrationOptions(set: Command): void {
  set
    .addOption(choice('--safety-stop <mode>', 'whether its safety stop judges, and acts', safetyModes))
    .addOption(choice('--unknown-endpoint <policy>', 'what becomes of calls that no table knows', unknownPolicies))
    .addOption(choice('--unknown-field <policy>', 'the same for fields of translated bodies', unknownPolicies))
    .addOption(choice('--unknown-header <policy>', 'the same for headers of translated calls', unknownPolicies))
    .addOption(choice('--capture <switch>', 'keep its exchanges with redacted messages, for replay', ['on', 'off']))
    .option('--deprecated <instant>', 'tell its tills with a Deprecation header, such as 2026-06-30T00:00:00Z', instant)
    .option('--sunset <instant>', 'tell its tills with a Sunset header', instant)
    .option('--deprecation-link <url>', 'where its till maker reads more')
    .option('--no-deprecation', 'tell its tills nothing');
}

function choice(flags: string, description: string, choices: readonly string[]): Option {
  return new Option(flags, description).choices([...choices, 'default']);
}

async function changeOf(id: string, options: SetOptions): Promise<Record<string, unknown>> {
  const said = {
    notice_url: options.notify === '-' ? fromEnvironment('PUENTE_NOTICE_URL') : orDefault(options.notify),
    dialect: orDefault(options.dialect),
    qr_notices: orDefault(options.qrNotices),
    point_payment_notices: orDefault(options.pointPaymentNotices),
    declined: orDefault(options.declined),
    cancel_on_terminal: options.cancelOnTerminal,
    voucher: orDefault(options.voucher),
    safety_stop: orDefault(options.safetyStop),
    unknown_endpoint: orDefault(options.unknownEndpoint),
    unknown_field: orDefault(options.unknownField),
    unknown_header: orDefault(options.unknownHeader),
    capture:
      options.capture === 'default' ? null : options.capture === undefined ? undefined : options.capture === 'on',
    deprecation: await deprecationOf(id, options),
    notice_secret: options.noticeSecret ? fromEnvironment('PUENTE_NOTICE_SECRET') : undefined,
    credential: options.credential ? fromEnvironment('PUENTE_CREDENTIAL') : undefined,
  };
  const named = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  if (Object.keys(named).length === 0)
    throw new PuenteError('bad_request', 'Name at least one setting; see puente merchants set --help.');
  return { reason: options.reason, revision: options.revision ?? (await view(options, id)).revision, ...named };
}

/** What is named is laid over what is set; null takes the headers away. */
async function deprecationOf(id: string, options: SetOptions): Promise<Record<string, unknown> | null | undefined> {
  if (options.deprecation === false) return null;
  const { deprecated, sunset, deprecationLink } = options;
  const said = { deprecated_at: deprecated, sunset_at: sunset, link: deprecationLink };
  const named = Object.entries(said).filter(([, value]) => value !== undefined);
  if (named.length === 0) return undefined;
  const before = (await view(options, id)).settings.deprecation?.value;
  return { ...(typeof before === 'object' ? before : {}), ...Object.fromEntries(named) };
}

async function view(options: OpsAddress, id: string): Promise<MerchantView> {
  return (await callOps(options, 'GET', `/api/merchants/${encodeURIComponent(id)}`)) as MerchantView; // the API's own shape
}

function list(merchants: MerchantView[]): string {
  if (merchants.length === 0)
    return 'No merchant yet: one appears with the first call that a side took for it, or with `puente merchants set`.';
  return tableOf(
    ['merchant', 'site', 'stage', 'safety stop', 'notices to', 'dialect', 'QR notices', 'revision'],
    merchants.map(({ id, site, settings, in_force, revision }) => [
      id,
      site ?? '?',
      stagesText(in_force),
      stopText(in_force),
      shown(settings.notice_url),
      shown(settings.dialect),
      shown(settings.qr_notices),
      revision,
    ]),
  );
}

/** A merchant as people read it: the stage in force, then the settings. */
export function merchantDetails(merchant: MerchantView): string {
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
  const head = `merchant ${merchant.id}, site ${merchant.site ?? 'not known yet'}, revision ${merchant.revision}`;
  return `${head}\nstage: ${stagesText(merchant.in_force)}${stopped}\n${table}`;
}

/** One word where all kinds are on the same stage. */
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

function instant(text: string): number {
  const at = Date.parse(text);
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text) || Number.isNaN(at))
    throw new InvalidArgumentError('an instant such as 2026-01-31T09:00:00Z is needed');
  return at;
}

function orDefault(value: string | undefined): string | null | undefined {
  return value === 'default' ? null : value;
}

function fromEnvironment(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '')
    throw new PuenteError('bad_request', `Set ${name} to the secret; it is not taken from the command line.`);
  return value;
}

// `puente erase`: forget a merchant; counted first, done with --apply.

interface EraseOptions extends Output {
  apply?: boolean;
  reason?: string;
  dropNotices?: boolean;
}

const HELP = `
Without --apply it is only counted. Everything of the merchant goes: sales, refunds, notices, exchanges, events, tokens,
settings, sums; lines of bulk moves lose its id. Audit lines stay, with one that says what was erased. Backups made before hold it still: they are named;
so do the copies that upgrades and restores left beside the database (puente.db.before-N, puente.db.replaced-...).

Examples:
  puente erase 700100200
  puente erase 700100200 --apply --reason "left us, asked for it in writing"`;

export function addEraseCommands(program: Command): void {
  common(program.command('erase <merchant>').description('forget everything of a merchant but the decisions about it'))
    .option('--apply', 'erase; what is gone can not come back')
    .option('--reason <text>', 'why, for the audit trail; needed with --apply')
    .option('--drop-notices', 'give up notices that were never delivered')
    .addHelpText('after', HELP)
    .action(async (id: string, { apply, reason, dropNotices, ...output }: EraseOptions) => {
      const body = {
        apply: apply === true,
        drop_notices: dropNotices === true,
        ...(reason === undefined ? {} : { reason }),
      };
      const path = `/api/merchants/${encodeURIComponent(id)}/erase`;
      const erasure = (await callOps(output, 'POST', path, body, { long: true })) as Erasure; // the API's own shape
      print(output, erasure, text(erasure));
      if (erasure.in_the_way.length > 0 && !erasure.erased) process.exitCode = exitCodes.blocked;
    });
}

function text({ merchant_id, erased, holdings, in_the_way, backups }: Erasure): string {
  const rows = Object.entries(holdings).map(([kind, count]) => [kind.replaceAll('_', ' '), count]);
  const head = erased ? `Merchant ${merchant_id} is erased.` : `Merchant ${merchant_id} has:`;
  const next =
    in_the_way.length > 0
      ? ['In the way:', ...in_the_way.map((one) => `  ${one}`)]
      : [`Erase it: puente erase ${merchant_id} --apply --reason …`];
  const kept = backups.length === 0 ? [] : [`Backups of before hold it still: ${backups.join(', ')}`];
  return [head, tableOf(['what', erased ? 'rows gone' : 'rows'], rows), ...(erased ? [] : next), ...kept].join('\n');
}
