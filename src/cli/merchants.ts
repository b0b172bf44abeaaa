/** `puente merchants` and `puente stage`: see merchants, set them, move them. */
import { type Command, Option } from 'commander';
import { dialects, qrNotices, stages } from '../core/merchant.ts';
import type { MerchantView } from '../core/operate.ts';
import { PuenteError } from '../error.ts';
import { callOps, type OpsAddress } from './ops-client.ts';
import { common, type Output, print, tableOf, wholeNumber } from './output.ts';

interface SetOptions extends Output {
  reason: string;
  revision?: number;
  notify?: string;
  dialect?: string;
  qrNotices?: string;
  declined?: string;
  cancelOnTerminal?: boolean;
  voucher?: string;
  noticeSecret?: boolean;
  credential?: boolean;
}

/** Adds the commands. Secrets are read from the environment, because arguments show in process lists. */
export function addMerchantCommands(program: Command): void {
  const merchants = program.command('merchants').description('see and set merchants of a running Puente');
  common(merchants.command('list').description('every merchant seen or set so far')).action(async (options: Output) => {
    const { merchants: all } = (await callOps(options, 'GET', '/api/merchants')) as { merchants: MerchantView[] }; // the API's own shape
    print(options, all, list(all));
  });
  common(merchants.command('show <merchant>').description('one merchant, with where each setting comes from')).action(
    async (id: string, options: Output) => {
      const merchant = await view(options, id);
      print(options, merchant, details(merchant));
    },
  );
  common(merchants.command('set <merchant>').description('change settings; `default` goes back to the default'))
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option(
      '--revision <number>',
      'refuse unless the merchant is at this revision (default: the current one)',
      wholeNumber,
    )
    .option('--notify <url>', 'where its notices go')
    .addOption(new Option('--dialect <name>', 'form of its Point notices').choices([...dialects, 'default']))
    .addOption(
      new Option('--qr-notices <form>', 'how its QR sales are told from now on').choices([...qrNotices, 'default']),
    )
    .addOption(
      new Option('--declined <policy>', 'how a declined payment shows').choices(['error', 'finished', 'default']),
    )
    .option('--cancel-on-terminal', 'let a cancel reach an order that is on the terminal')
    .option('--no-cancel-on-terminal', 'refuse it, as legacy did')
    .addOption(
      new Option('--voucher <policy>', 'what a voucher preference does').choices(['refuse', 'drop', 'default']),
    )
    .option('--notice-secret', 'set its webhook secret from PUENTE_NOTICE_SECRET')
    .option('--credential', 'set its access token from PUENTE_CREDENTIAL')
    .action(async (id: string, options: SetOptions) => {
      const changed = (await callOps(
        options,
        'PUT',
        `/api/merchants/${id}`,
        await changeOf(id, options),
      )) as MerchantView;
      print(options, changed, details(changed));
    });
  addStageCommand(program);
}

function addStageCommand(program: Command): void {
  common(
    program
      .command('stage <merchant>')
      .argument('<stage>', stages.join(' or '))
      .description('move a merchant: new payments follow, open ones stay'),
  )
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option(
      '--revision <number>',
      'refuse unless the merchant is at this revision (default: the current one)',
      wholeNumber,
    )
    .action(async (id: string, stage: string, options: SetOptions) => {
      const revision = options.revision ?? (await view(options, id)).revision;
      const body = { stage, reason: options.reason, revision };
      const changed = (await callOps(options, 'PUT', `/api/merchants/${id}/stage`, body)) as MerchantView;
      print(options, changed, details(changed));
    });
}

async function changeOf(id: string, options: SetOptions): Promise<Record<string, unknown>> {
  const said = {
    notice_url: orDefault(options.notify),
    dialect: orDefault(options.dialect),
    qr_notices: orDefault(options.qrNotices),
    declined: orDefault(options.declined),
    cancel_on_terminal: options.cancelOnTerminal,
    voucher: orDefault(options.voucher),
    notice_secret: options.noticeSecret ? fromEnvironment('PUENTE_NOTICE_SECRET') : undefined,
    credential: options.credential ? fromEnvironment('PUENTE_CREDENTIAL') : undefined,
  };
  const named = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  if (Object.keys(named).length === 0)
    throw new PuenteError('bad_request', 'Name at least one setting; see puente merchants set --help.');
  return { reason: options.reason, revision: options.revision ?? (await view(options, id)).revision, ...named };
}

async function view(options: OpsAddress, id: string): Promise<MerchantView> {
  return (await callOps(options, 'GET', `/api/merchants/${encodeURIComponent(id)}`)) as MerchantView; // the API's own shape
}

function list(merchants: MerchantView[]): string {
  if (merchants.length === 0)
    return 'No merchant yet: one appears with its first accepted call, or with `puente merchants set`.';
  return tableOf(
    ['merchant', 'site', 'stage', 'notices to', 'dialect', 'QR notices', 'revision'],
    merchants.map(({ id, site, settings, revision }) => [
      id,
      site ?? '?',
      shown(settings.stage),
      shown(settings.notice_url),
      shown(settings.dialect),
      shown(settings.qr_notices),
      revision,
    ]),
  );
}

function details(merchant: MerchantView): string {
  const table = tableOf(
    ['setting', 'value', 'from'],
    [
      ...Object.entries(merchant.settings).map(([name, setting]) => [name, shown(setting), setting.from]),
      ['notice_secret', merchant.notice_secret, 'merchant'],
      ['credential', merchant.credential, 'merchant'],
    ],
  );
  return `merchant ${merchant.id}, site ${merchant.site ?? 'not known yet'}, revision ${merchant.revision}\n${table}`;
}

function shown(setting: { value: unknown } | undefined): string {
  return setting?.value === null || setting === undefined ? 'none' : String(setting.value);
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
