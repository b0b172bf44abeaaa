/** Commands and text output of files of merchants: `puente plan`, `plan export` and `apply`. */
import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Command, CommanderError } from 'commander';
import { PuenteError } from '../../error.ts';
import type { ApplyView } from '../plan/apply.ts';
import type { PlanView } from '../plan/plan.ts';
import { type Columns, counted, exitCodes, listed, namedAs, print, readInput, table } from './output.ts';
import { call, callRow, type Faces, type Fields, type Given } from './rows.ts';

/** As Terraform's detailed exit codes have it; so wrong usage, which is 2 elsewhere, is 1 here. */
const WOULD_CHANGE = 2;

const FILE = `
The file is YAML, a list of merchants; what it does not name stays as it is, and nothing is deleted:
  merchants:
    - id: 700100200
      name: Café Sur
      stage: canary
      share: 5
      notice_url: https://shop.example/notices
      credential: env:CAFE_TOKEN
An entry takes the settings of \`puente merchants set\` (null: the default), stage, share, units_in, units_out, kinds (such as
{qr: {stage: orders}}; stage follow: as the merchant), and new: true for a merchant that was never seen.
A secret is stored elsewhere: env:NAME names a variable of the command, file:PATH a file, from the folder of the YAML file on.`;

export const planFaces: Faces = {
  plan: {
    about: 'what a file of merchants would change, and what has drifted from it',
    notes: `${FILE}
Nothing is changed. Each move is judged as \`puente stage --dry-run\` does. Drift is what was changed by hand since the last apply.`,
    examples: ['puente plan shops.yaml', 'puente plan shops.yaml --json'],
    exits: {
      done: 'nothing would change',
      failed: 'something would be refused, or the command failed; wrong usage, too',
      usage: 'something would change, and nothing be refused',
    },
    args: ['file'],
    made: ['text', 'secrets'],
    is_long: true,
    more: usageFails,
    input: fileOf,
    text: planText,
    exit: ({ changes, refused }) => (refused > 0 ? exitCodes.failed : changes > 0 ? WOULD_CHANGE : exitCodes.done),
  },
  'plan drift': {
    about: 'what was changed by hand since a file was last applied, without the file',
    more: usageAsUsual,
    examples: ['puente plan drift'],
    text: listed('No merchant has drifted from the file that was last applied to it.', {
      merchant: ({ merchant_id, name }) => (name === null ? merchant_id : `${merchant_id} ${name}`),
      file: 'file',
      applied: 'applied_at',
      drift: ({ drift }) => drift.join('\n'),
    }),
  },
  'plan export': {
    about: 'the file of merchants as they are now, to begin with',
    notes: 'Secrets and notice URLs are left out; comments say where there is one.',
    more: usageAsUsual,
    examples: [
      'puente plan export > shops.yaml',
      'puente plan export 700100200,700100300',
      'puente plan export --where tag=centro',
    ],
    args: ['merchants'],
    text: ({ text }) => text.trimEnd(),
  },
  apply: {
    about: 'make the changes of a plan, each as by hand and with its own audit line',
    notes: `${FILE}
The plan is shown and confirmed first; --yes confirms it beforehand. When anything has changed since the plan, nothing is made:
with --plan, since the plan of that digest. What is refused is left out and listed; another apply goes on from there.`,
    examples: [
      'puente apply shops.yaml --reason "wave 3" --yes',
      'puente apply shops.yaml --plan 0123456789abcdef --reason "as reviewed" --yes',
    ],
    exits: { done: 'all is made or proposed, or nothing was to do', failed: 'refused, or some steps were not made' },
    args: ['file'],
    made: ['text', 'secrets', 'plan'],
    more: (apply) =>
      void apply
        .option('--plan <digest>', 'the plan that is applied (default: the one that is shown)')
        .option('--yes', 'do not ask: apply the plan that is shown'),
    input: fileOf,
    ask: applied,
    text: applyText,
    exit: ({ not_made }) => (not_made > 0 ? exitCodes.failed : exitCodes.done),
  },
};

/** Commander ends wrong usage with the code 2, which would read as changes. */
function usageFails(command: Command): void {
  command.configureOutput({ outputError: () => undefined }).exitOverride((error: CommanderError) => {
    if (error.exitCode === 0) throw error;
    throw new PuenteError('bad_request', error.message);
  });
}

/** Below `plan`, whose way it would inherit. */
function usageAsUsual(command: Command): void {
  command.configureOutput({ outputError: (text, write) => write(text) }).exitOverride();
}

async function fileOf({ fields }: Given): Promise<Fields> {
  const path = String(fields.file);
  const text = readInput(path, 'name a YAML file of merchants, or - for the input');
  const { referencesIn } = await import('../plan/reference.ts'); // with a reader of YAML, which other commands do not need
  const folder = path === '-' ? process.cwd() : dirname(resolve(path));
  const secrets = Object.fromEntries(referencesIn(text).map((one) => [one, secretOf(one, folder)]));
  return { ...fields, file: path === '-' ? 'stdin' : basename(path), text, secrets };
}

/** @throws PuenteError bad_request without the variable or the file. */
function secretOf(reference: string, folder: string): string {
  const [scheme, name] = [reference.slice(0, reference.indexOf(':')), reference.slice(reference.indexOf(':') + 1)];
  if (scheme === 'env') {
    const value = process.env[name];
    if (value) return value;
    throw new PuenteError('bad_request', `${reference} has no value: set the variable ${name}.`);
  }
  try {
    return readFileSync(resolve(folder, name), 'utf8').trim();
  } catch (cause) {
    throw new PuenteError('bad_request', `${reference} can't be read: paths begin at the folder of the file.`, {
      cause,
    });
  }
}

/** Shows the plan, has it confirmed, and applies that one. */
async function applied(given: Given): Promise<ApplyView | undefined> {
  const { reason, ...fields } = given.fields;
  const { yes, plan: wanted, json } = given.options;
  const plan = await callRow('POST /api/plan', given, fields, true);
  if (json !== true) print({}, plan, planText(plan));
  if (plan.changes > 0 && yes !== true) await confirmed(plan, json !== true);
  return (await call({ ...given, fields: { ...given.fields, plan: wanted ?? plan.plan } }, true)) as ApplyView; // the API's own shape
}

/** @throws PuenteError refused when it is declined, or there is nobody to ask. */
async function confirmed({ changes }: PlanView, may_ask: boolean): Promise<void> {
  if (!may_ask || !process.stdin.isTTY)
    throw new PuenteError('refused', 'Nothing is applied: look at the plan, and repeat this with --yes.');
  const { confirm } = await import('@clack/prompts');
  if ((await confirm({ message: `Apply ${counted(changes, 'change')}?`, initialValue: false })) !== true)
    throw new PuenteError('refused', 'Nothing is applied.');
}

type PlannedStep = PlanView['merchants'][number]['steps'][number];
type Line<Ended> = Ended & { merchant: string };

const WOULD: Readonly<Record<PlannedStep['outcome'], string>> = {
  make: 'changed',
  propose: 'proposed to a second person',
  waits: 'left: it is proposed already',
  refused: 'refused',
  held: 'held back',
};

function linesOf<Ended>(
  merchants: readonly { merchant_id: string; name: string | null; steps: Ended[] }[],
): Line<Ended>[] {
  return merchants.flatMap(({ merchant_id, name, steps }) =>
    steps.map((step) => ({ ...step, merchant: namedAs(merchant_id, name) })),
  );
}

function planText({ merchants, last_applied: last, ...plan }: PlanView): string {
  const columns: Columns<Line<PlannedStep>> = {
    merchant: 'merchant',
    change: ({ changes: its }) => its.join('\n'),
    because: ({ drift }) => (drift === null ? 'the file' : `drift: ${drift}`),
    'would be': ({ outcome }) => WOULD[outcome],
    why: ({ why }) => why.join('\n'),
  };
  const same = last?.sha256 === plan.sha256 ? ', the same text' : '';
  const lines = linesOf(merchants);
  const notes = merchants.flatMap(({ merchant_id, name, notes: its }) =>
    its.map((note) => `${namedAs(merchant_id, name)}: ${note}`),
  );
  const left = merchants.flatMap(({ merchant_id, name, not_in_file: its }) =>
    its.map((one) => ({ merchant: namedAs(merchant_id, name), what: `${one.setting}: ${one.value}` })),
  );
  const absent = plan.not_in_file.map(({ merchant_id, name, stage }) => ({
    merchant: namedAs(merchant_id, name),
    what: `the merchant, on ${stage}`,
  }));
  return [
    `plan ${plan.plan} of ${plan.file}, sha256 ${plan.sha256}`,
    last === null
      ? 'none of its merchants was ever applied from a file'
      : `last applied ${last.at} by ${last.who} from ${last.file}${same}`,
    ...(lines.length > 0 ? [table(columns, lines)] : []),
    ...notes,
    ...(left.length + absent.length > 0
      ? [table({ merchant: 'merchant', 'not in the file, and left as it is': 'what' }, [...left, ...absent])]
      : []),
    plan.changes + plan.refused === 0
      ? 'Nothing would change.'
      : `${counted(plan.changes, 'change')}, ${plan.refused} refused, in ${counted(merchants.length, 'merchant')}.`,
  ].join('\n');
}

function applyText({ file, merchants, made, not_made }: ApplyView): string {
  const lines = linesOf(merchants);
  const columns: Columns<(typeof lines)[number]> = {
    merchant: 'merchant',
    change: ({ changes }) => changes.join('\n'),
    result: ({ result }) => (result === 'stopped' ? 'not reached' : result),
    why: ({ why }) => why.join('\n'),
  };
  const rest = not_made > 0 ? ` ${not_made} not made: repeat the apply when the reason is gone.` : '';
  const sums = `${file} is applied: ${counted(made, 'step')} made or proposed.${rest}`;
  return lines.length === 0 ? sums : `${table(columns, lines)}\n${sums}`;
}
