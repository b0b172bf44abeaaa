/** Text output of losses, coverage, unknown names, verdicts, differences, readiness, limitations and assumptions. */
import { wordsOf } from '../../locales/words.ts';
import type { Verdict } from '../../proxy/records/evidence.ts';
import type { CoverageView, LossView } from '../readiness/coverage.ts';
import type { DecommissionView, FleetDecommissionView } from '../readiness/decommission.ts';
import type { DifferenceView } from '../readiness/differences.ts';
import type { Finding, Readiness } from '../readiness/facts.ts';
import type { QUIET_DAYS } from '../readiness/legacy-use.ts';
import { saidOf } from '../readiness/side.ts';
import type { Named } from '../seen.ts';
import { counted, exitCodes, facts, hanging, listed, merchantCell, namedAs, table, withName } from './output.ts';
import type { Faces } from './rows.ts';

/** Characters of a value in a list; `differences show` has it whole. */
const SHORT = 48;

/** Its type is that number: the module needs schemas, and the help needs none. */
const DAYS: typeof QUIET_DAYS = 7;

export const evidenceFaces: Faces = {
  losses: {
    examples: ['puente losses --merchant 700100200 --advice > mail.txt'],
    more: (losses) => void losses.option('--advice', "only the sentences to send to the till's maker"),
    text: (losses, { options }) =>
      options.advice === true && losses.length > 0 ? losses.map((one) => one.advice).join('\n') : lossesText(losses),
  },
  coverage: {
    notes: `
equal: the field reached the order. different: it did not. seen: it was in calls proxied to legacy, which are not compared.
unchecked: the operation was called, but its calls were not checked for the field. never seen: no call had it.`,
    examples: ['puente coverage 700100200 --state never_seen'],
    text({ cells, operations, merchant_id }) {
      const never = operations.filter(({ calls }) => calls === 0).map((one) => one.operation);
      if (never.length === operations.length && cells.length === 0)
        return `No such call of ${merchant_id} was seen; is it the merchant that is meant? puente can-migrate ${merchant_id}`;
      const unseen = `\n${hanging(`Operations never seen (${never.length}): ${never.join(', ')}`, '  ')}`;
      return coverageText(cells) + (never.length === 0 ? '' : unseen);
    },
  },
  unknowns: {
    notes: 'To set what happens to them: puente merchants set <merchant> --unknown-field allow --reason …',
    examples: ['puente unknowns --merchant 700100200'],
    text: listed('No unknown endpoint, field or header was seen.', {
      merchant: merchantCell,
      what: 'what',
      name: 'name',
      count: 'count',
      first: 'first_at',
      last: 'last_at',
    }),
  },
  verdicts: {
    examples: ['puente verdicts --merchant 700100200'],
    text: listed('No create was shadowed yet: puente stage <merchant> shadow --reason …', {
      merchant: merchantCell,
      operation: 'operation',
      verdict: ({ verdict }) => verdict.replace('_', ' '),
      code: 'code',
      rule: 'detail',
      count: 'count',
      'on legacy too': ({ verdict, refused_on_legacy }) => (verdict === 'accepted' ? '' : refused_on_legacy),
      last: 'last_at',
    }),
  },
  'differences list': {
    examples: ['puente differences list --merchant 700100200 --state new'],
    text: listed('No difference matches.', {
      merchant: merchantCell,
      signature: 'signature',
      state: 'state',
      operation: 'operation',
      what: 'what',
      path: 'path',
      legacy: ({ legacy }) => legacy.slice(0, SHORT),
      orders: ({ orders }) => saidOf(orders).slice(0, SHORT),
      count: 'count',
      last: 'last_at',
    }),
  },
  'differences show': {
    examples: ['puente differences show 700100200 0a1b2c3d4e5f6071'],
    text: differenceText,
  },
  'differences judge': {
    notes: `
explained: it makes no difference for the till. accepted: it does, and is accepted until a date; then it is new again.
fixed: it should not appear again; if it does, it is new.`,
    examples: [
      'puente differences judge 700100200 0a1b2c3d4e5f6071 explained --note "the till does not read this field"',
      'puente differences judge 700100200 0a1b2c3d4e5f6071 accepted --until 2026-12-31T00:00:00Z --note "agreed with the shop"',
    ],
    args: ['state'],
    flags: { accepted_until: 'until' },
    text: ({ result, ...one }) =>
      result === 'unchanged'
        ? `nothing to change: difference ${one.signature} has this judgement already`
        : differenceText(one),
  },
};

function lossesText(losses: readonly Named<LossView>[]): string {
  const text = listed<Named<LossView>>('No loss was seen.', {
    merchant: merchantCell,
    weight: 'weight',
    operation: 'operation',
    field: 'field',
    really: 'real_count',
    'on paper': 'would_be_count',
    last: 'last_at',
    why: 'why',
  })(losses);
  return losses.length === 0 ? text : `${text}\nThe sentences for the till's maker: puente losses --advice`;
}

const coverageText = listed<CoverageView['cells'][number]>('No field matches.', {
  operation: 'operation',
  field: 'field',
  equal: 'equal',
  different: 'different',
  state: ({ state }) => state.replace('_', ' '),
  last: 'last_at',
});

function differenceText({ merchant_name, ...one }: Named<DifferenceView>): string {
  const merchant_id = namedAs(one.merchant_id, merchant_name);
  return `${facts({ ...one, merchant_id, orders: saidOf(one.orders) })}\nIts newest call: puente trace ${one.sample}`;
}

export const registerFaces: Faces = {
  limitations: {
    examples: ['puente limitations'],
    text: (all) =>
      all.map(({ id, title, effect, workaround }) => `${id}  ${title}\n  ${effect}\n  ${workaround}`).join('\n\n'),
  },
  assumptions: {
    examples: ['puente assumptions --json'],
    text: (all) => table({ setting: 'name', value: 'value' }, all),
  },
};

export const VERDICT_EXIT: Readonly<Record<Verdict, number>> = {
  ready: exitCodes.done,
  blocked: exitCodes.blocked,
  inconclusive: exitCodes.inconclusive,
};

export const readinessFaces: Faces = {
  'can-migrate': {
    about: 'may this merchant move; what blocks it, what is unproven',
    notes: `
The verdict is about the next move: to shadow or a canary; for work on a canary, to orders, which needs successful reads,
cancels and refunds on orders; for a merchant on orders, about completion: may legacy be switched off. An id that was never seen is no verdict. Too little traffic is inconclusive, never ready. Each finding names the command that shows, repairs or proves it.`,
    examples: [
      'puente can-migrate 700100200',
      'puente can-migrate 700100200 --json > verdict.json && puente stage 700100200 canary --share 5 --reason "proven"',
    ],
    exits: {
      done: 'ready',
      failed: 'the merchant was never seen, or the command failed',
      blocked: 'something is in the way',
      inconclusive: 'too little is proven',
    },
    text: readinessText,
    exit: ({ verdict, unproven }) =>
      unproven.some(({ code }) => code === 'not_seen') ? exitCodes.failed : VERDICT_EXIT[verdict],
  },
  decommission: {
    about: 'what still needs legacy, and what may be switched off now: of a merchant, or a line for each',
    notes: `
A unit may be switched off when its new work is on orders, nothing of it is open on legacy, and it did not call legacy for ${DAYS} days.
A merchant may go when all its work is on orders, nothing of it called legacy for ${DAYS} days, and its sales agree with upstream.`,
    examples: ['puente decommission', 'puente decommission 700100200'],
    exits: { done: 'it may go (of a list: always)', blocked: 'something still needs legacy' },
    is_long: true,
    text: (answer) => (Array.isArray(answer) ? fleetUseText(answer) : useText(answer)),
    exit: (answer) => (Array.isArray(answer) || answer.may_go !== false ? exitCodes.done : exitCodes.blocked),
  },
};

const fleetUseText = listed<FleetDecommissionView['merchants'][number]>(
  'No merchant has called yet, and none is set.',
  {
    merchant: ({ merchant_id, name }) => withName(merchant_id, name),
    stage: 'stage',
    'may go': ({ may_go }) => (may_go ? 'yes' : 'no'),
    'last on legacy': ({ last_legacy_day }) => last_legacy_day ?? 'never',
    quiet: 'quiet_days',
    open: 'open_on_legacy',
    units: ({ units, units_free }) => `${units_free} of ${units}`,
    why: 'why',
  },
);

function useText({ merchant_id, name, may_go, last_legacy_day: day, quiet_days, ...one }: DecommissionView): string {
  const { quiet_days_needed: needed } = one;
  const quiet =
    quiet_days === 0
      ? 'no whole UTC day has'
      : `${counted(quiet_days ?? 0, 'whole UTC day')} ${quiet_days === 1 ? 'has' : 'have'}`;
  const last =
    day === null
      ? `never called; ${needed} whole UTC days without a call are needed`
      : `last called on ${day}; since then ${quiet} passed without a call, and ${needed} are needed`;
  const units = table(
    {
      unit: 'unit',
      'new work': 'new_work',
      'last on legacy': ({ last_legacy_at, last_operation }) =>
        last_legacy_at === null ? 'never' : `${last_legacy_at}${last_operation === null ? ' or earlier' : ''}`,
      call: 'last_operation',
      quiet: 'quiet_days',
      open: 'open_on_legacy',
      'may go': (unit) => (unit.may_go ? 'yes' : 'no'),
      why: 'why',
    },
    one.units,
  );
  const calls = one.calls.map(({ name, calls, last_day }) => `  - ${name}: ${calls}, last on ${last_day}`);
  return [
    `${namedAs(merchant_id, name)} ${may_go ? 'MAY GO' : 'STILL NEEDS LEGACY'}. ${one.why}`,
    ...(may_go
      ? [`The certificate, or what it needs: puente report ${merchant_id} --format html --output certificate.html`]
      : []),
    `Open on legacy: ${one.open_on_legacy}. Legacy was ${last}.`,
    ...(calls.length === 0
      ? []
      : [`\nWhat called legacy in these ${needed} days (${counted(calls.length, 'operation')}):`, ...calls]),
    one.units.length === 0 ? 'No terminal or point of sale was seen.' : units,
  ].join('\n');
}

/** `ready` covers only the traffic seen, so the headline also names what is unproven. */
function headline({ merchant_id, merchant_name, about, verdict, move, operations, unproven }: Readiness): string {
  const merchant = namedAs(merchant_id, merchant_name);
  const open = operations.filter((one) => one.verdict === 'inconclusive').map(({ operation }) => operation);
  const left = [
    ...(open.length === 0 ? [] : [`too few calls of ${open.join(', ')}`]),
    ...(unproven.length === 0 ? [] : ['what is listed below']),
  ];
  const rest = verdict !== 'ready' || left.length === 0 ? '' : ` Not proven: ${left.join(', and ')}.`;
  const { t } = wordsOf('en');
  if (about === 'completion') return `${merchant} is on orders. ${t(`completion.${verdict}`)}`;
  return `${merchant} is ${verdict.toUpperCase()}. ${move} ${t(`readiness.${verdict}`)}${rest}`;
}

/** English, for a terminal; of a merchant that was never seen only that. */
export function readinessText(readiness: Readiness): string {
  const { judged_at, tables_revision, operations, verdict } = readiness;
  const never = readiness.unproven.find(({ code }) => code === 'not_seen');
  const unproven = readiness.unproven.filter((one) => one !== never);
  const calls = table(
    {
      operation: 'operation',
      calls: 'calls',
      ok: ({ outcomes }) => outcomes.ok,
      business: ({ outcomes }) => outcomes.business,
      auth: ({ outcomes }) => outcomes.auth,
      fault: ({ outcomes }) => outcomes.fault,
      verdict: 'verdict',
    },
    operations,
  );
  return [
    // Of a merchant that is not there no move is judged.
    never === undefined ? headline(readiness) : `${never.what}\n  ${never.command}`,
    `Judged at ${judged_at} by tables ${tables_revision}.`,
    section('Blockers', readiness.blockers),
    section(verdict === 'ready' ? 'Not proven; does not block the next move' : 'Unproven', unproven),
    section('Accepted disagreements; block nothing', readiness.acknowledged),
    section('Remarks', readiness.remarks),
    operations.length === 0 ? 'No call of this merchant was seen.' : calls,
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function section(
  title: string,
  findings: readonly (Pick<Finding, 'what'> & Partial<Pick<Finding, 'command'>>)[],
): string {
  if (findings.length === 0) return '';
  const lines = findings.map(({ what, command = null }) => `  - ${what}${command === null ? '' : `\n    ${command}`}`);
  return `\n${title} (${findings.length}):\n${lines.join('\n')}`;
}
