/** Commands and text output of the fleet, sales, notices and decisions. */
import { type Command, InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { factText } from '../../locales/message.ts';
import { timeText, wordsOf } from '../../locales/words.ts';
import type { receiversView } from '../api/notices.ts';
import type { ChainView } from '../audit.ts';
import type { FleetLine, FleetView } from '../fleet/line.ts';
import type { AttemptView } from '../notices.ts';
import type { SaleLine, SalesView } from '../trace/sales.ts';
import type { SaleView, Trace } from '../trace/trace.ts';
import { callOps } from './ops-client.ts';
import {
  type Columns,
  counted,
  exitCodes,
  facts,
  listed,
  namedAs,
  type Output,
  oneLine,
  plain,
  table,
  withName,
} from './output.ts';
import type { Faces, Given } from './rows.ts';

export const fleetFaces: Faces = {
  fleet: {
    notes: `
Rates, faults and waits are those of the last hour; faults are caused by Puente or upstream, never by a shop or a card.
Verdicts are made in the background after this command is called: for "unjudged", repeat it a little later;
puente can-migrate <merchant> judges one at once.`,
    examples: [
      'puente fleet',
      'puente fleet --attention',
      'puente fleet --search "café" --tag centro',
      'puente fleet --stage canary --sort p99',
      'puente fleet --json --per-page 500 --page 2',
    ],
    made: ['order'],
    more: (fleet) => void fleet.option('--reversed', 'reverse the order'),
    input: ({ fields, options }) => ({ ...fields, ...(options.reversed === true ? { order: 'reversed' } : {}) }),
    text: (view) => (view.found === 0 ? none(view) : fleetText(view)),
  },
};

function none({ totals }: FleetView): string {
  return totals.merchants === 0
    ? 'No merchant has called yet, and none is set. Point a till at Puente, or set one: puente merchants set <merchant> --name … --new --reason …'
    : 'No merchant matches.';
}

function fleetText({ merchants, found, page, pages, totals, at }: FleetView): string {
  const { legacy, shadow, canary, orders } = totals.stages;
  const sums = `${counted(totals.merchants, 'merchant')}: ${legacy} legacy, ${shadow} shadow, ${canary} canary, ${orders} orders; ${totals.attention} in need of attention`;
  return [sums, table(fleetColumns, merchants), `${found} found, page ${page} of ${pages}, at ${at}`].join('\n');
}

const fleetColumns: Columns<FleetLine> = {
  merchant: ({ merchant_id, name }) => withName(merchant_id, name),
  stage: stageText,
  'needs attention': ({ attention }) => attention.map((one) => one.replace('_', ' ')).join(', '),
  'lanes, last hour': (line) => (['legacy', 'orders'] as const).map((lane) => laneText(line, lane)).join('\n'),
  readiness: ({ readiness }) =>
    `${readiness?.verdict ?? 'unjudged'}${(readiness?.blockers ?? 0) > 0 ? ` (${readiness?.blockers})` : ''}`,
};

function stageText({ intended, share, apart }: FleetLine): string {
  const own = intended === 'canary' ? `canary ${share} %` : intended;
  const others = apart.map(({ kind, stage }) => `${kind} ${stage}`);
  return [own, ...others].join('; ');
}

/** Such as `orders 1.5/min, 0 % faults, p99 210 ms, 2 open (drain)`. */
function laneText({ health, open, draining }: FleetLine, lane: 'legacy' | 'orders'): string {
  const pulse = health[lane];
  const calls =
    pulse === null ? 'no calls' : `${pulse.per_minute}/min, ${pulse.fault_share} % faults, p99 ${pulse.p99_ms} ms`;
  return `${lane} ${calls}, ${open[lane]} open${draining?.lane === lane ? ' (drain)' : ''}`;
}

export const traceFaces: Faces = {
  sales: {
    notes: `
A refunded sale stays in state "paid", and the list says how much was refunded. "not_known": no answer or event has shown how it ended, as of most sales on legacy.`,
    examples: [
      'puente sales --merchant 700100200 --state lost',
      'puente sales --search "café" --tag centro',
      'puente sales --state in_doubt --json',
      'puente sales --merchant 700100200 --amount-from 1500 --amount-to 1500.50 --since 2026-01-31T09:00:00Z',
      'puente sales --reference sale-1',
      'puente sales --lane orders --family point --state declined --since 2026-01-31T00:00:00Z',
    ],
    text: salesText,
  },
  'sales disagreements': {
    examples: ['puente sales disagreements 0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10'],
    text: ({ id, amount, currency, disagreements, newest, in_the_way }) =>
      [
        `${id}, ${amount === null ? 'amount not known' : `${amount} ${currency}`}`,
        ...disagreements.map(
          ({ kind, what, is_acknowledged }) => `  ${kind}${is_acknowledged ? ' (accepted)' : ''}: ${oneLine(what)}`,
        ),
        in_the_way ??
          `Once nothing can repair it: puente sales acknowledge ${oneLine(id)} --expected ${newest} --reason …`,
      ].join('\n'),
  },
  'sales acknowledge': {
    notes: `
For a sale that is lost, or that upstream knows otherwise, once nothing can repair it: \`puente reconcile\` and the vendor's
panel come first. It takes the id that the finding names, and the line that \`puente sales disagreements\` shows last:
nothing that was found later is accepted. Verdicts, reports and certificates then name the sale with its
amount, who accepted it, when and why. Another disagreement of the same sale is open again.`,
    examples: [
      "puente sales acknowledge 0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10 --expected 128 --reason 'refunded in cash, case 1234'",
    ],
    text: ({ what }) => what,
  },
  trace: {
    notes:
      "The id may be a legacy id, an order, payment, merchant order or refund, a till's reference, a notice or an exchange.",
    examples: ['puente trace 0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10', 'puente trace sale-1 --merchant 700100200 --rules'],
    args: ['id'],
    more: (trace) => void trace.option('--rules', 'show the table rows that fired, with their reasons'),
    text: (traces, { options }) => traces.map((one) => storyText(one, options.rules === true)).join('\n\n'),
  },
};

function salesText({ sales, next, searched_to }: SalesView): string {
  const found = sales.length === 0 ? 'No sale matches.' : table(saleColumns, sales);
  if (next === null) return found;
  const paused = searched_to === null ? '' : ` The search has reached sales of ${searched_to}.`;
  return `${sales.length === 0 && searched_to !== null ? 'No sale matches so far.' : found}
There are older ones.${paused} Go on with:
  --before ${next}`;
}

/** Fits 80 columns: what names a sale stands in one cell. */
const saleColumns: Columns<SaleLine> = {
  sale: ({ legacy_id, merchant, merchant_name, unit, client_reference }) =>
    [
      legacy_id ?? 'no id',
      `${merchant} ${oneLine(unit)}`,
      ...(merchant_name === null ? [] : [oneLine(merchant_name)]),
      ...(client_reference === null ? [] : [oneLine(client_reference)]),
    ].join('\n'),
  state: ({ state, refund }) => (refund ? `${state},\n${refundWords(refund).replaceAll(' ', '\n')}` : state),
  'created, amount': ({ created_at, amount, currency, refunded, lane }) =>
    [
      created_at,
      amount === null ? 'amount unknown' : `${amount} ${currency}`,
      ...(refunded ? [`refunded ${refunded} ${currency}`] : []),
      `on ${lane}`,
    ].join('\n'),
};

/** As the page of sales says it. An older Puente says nothing of it. */
function refundWords(refund: NonNullable<SaleLine['refund']>): string {
  return wordsOf('en').t(`sales.refund.${refund}`);
}

function storyText(trace: Trace, with_rules: boolean): string {
  const steps = table(
    { at: ({ at }) => timeText(at, 'milliseconds'), kind: 'kind', what: ({ what }) => oneLine(what) },
    trace.steps,
  );
  const rules = trace.rules.map(({ row, says, why }) => `  ${row}: ${says}\n    ${why}`).join('\n');
  const changed = trace.tables_changed ? ' (the tables have changed since)' : '';
  const fired = `${trace.rules.length} table rows fired${changed}`;
  return [
    trace.sale === null ? `Found as ${trace.found_as}` : headOf(trace.sale, trace.found_as),
    ...(trace.trouble === null ? [] : [oneLine(trace.trouble.what)]),
    trace.promise,
    steps,
    !with_rules ? `${fired}; --rules shows them.` : rules === '' ? `${fired}.` : `${fired}:\n${rules}`,
  ].join('\n');
}

function headOf(sale: SaleView, found_as: string): string {
  const amount = sale.amount === null ? 'amount unknown' : `${sale.amount} ${sale.currency}`;
  const sum = sale.refunded ? ` ${sale.refunded} ${sale.currency}` : '';
  const refund = sale.refund ? `, ${refundWords(sale.refund)}${sum}` : '';
  const facts: [string, string | number | null][] = [
    ['legacy id', sale.legacy_id],
    ['order', sale.order_id],
    ['payment', sale.payment_id],
    ['merchant order', sale.merchant_order_id],
    ["till's reference", sale.client_reference],
    ['reference sent', sale.reference_sent],
    ['tables', sale.tables_revision],
  ];
  const known = facts
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `  ${name}: ${oneLine(String(value))}`);
  return [
    `Found as ${found_as}: merchant ${namedAs(sale.merchant, sale.merchant_name)}, ${sale.family} ${sale.unit}, ${amount}, created on ${sale.lane} at ${sale.created_at}`,
    `  state: ${sale.state}${sale.legacy_state === null ? '' : `, the till sees ${sale.legacy_state}`}${refund}${sale.ends_at === null ? '' : `, latest end ${sale.ends_at}`}`,
    ...known,
  ].join('\n');
}

/** As the page of notices says it. */
function outcomeText({ outcome }: Pick<AttemptView, 'outcome'>): string {
  return wordsOf('en').t(`attempt.${outcome}`);
}

const NOTICE = '3f0e6a52-9f0b-4c3e-8a51-0d5f1f0c9a77';

export const noticeFaces: Faces = {
  'notices list': {
    examples: [
      'puente notices list --merchant 700100200 --state pending',
      'puente notices list --merchant centro --state pending',
    ],
    text: listed('No notice matches.', {
      notice: 'id',
      merchant: ({ merchant, merchant_name }) => withName(merchant, merchant_name),
      made: 'created_at',
      topic: ({ topic, form }) => `${topic}${form === 'webhook' ? ' (webhook)' : ''}`,
      about: 'subject',
      state: 'state',
      attempts: 'attempts',
      last: ({ last_attempt: last }) =>
        last === null ? 'none' : `${outcomeText(last)}${last.status === null ? '' : `, ${last.status}`}`,
    }),
  },
  'notices receivers': {
    examples: [
      'puente notices receivers',
      'puente notices receivers --merchant 700100200 --since 2026-01-31T00:00:00Z',
    ],
    text: ({ receivers, since, until }) =>
      `${listed<z.infer<typeof receiversView>['receivers'][number]>('No notice of this time was sent or tried.', {
        receiver: ({ merchant, merchant_name, url }) =>
          `${withName(merchant, merchant_name)}\n${url ?? 'held back by Puente'}`,
        success: ({ success_rate }) => (success_rate === null ? '' : `${success_rate} %`),
        acknowledged: 'delivered',
        late: 'late',
        refused: 'refused',
        held: 'held',
      })(receivers)}\nCounted are notices made from ${since} to ${until}.`,
  },
  'notices test': {
    examples: ["puente notices test 700100200 --reason 'its new address'"],
    exits: { done: 'acknowledged', failed: 'not acknowledged, or a failed call' },
    args: ['merchant'],
    is_long: true,
    text: ({ outcome, url, detail, duration_ms }) =>
      `${outcome === 'delivered' ? 'acknowledged' : 'not acknowledged'}: ${url ?? 'nothing was sent'}, ${duration_ms} ms\n${detail}`,
    exit: ({ outcome }) => (outcome === 'theirs' || outcome === 'ours' ? exitCodes.failed : exitCodes.done),
  },
  'notices show': {
    examples: [`puente notices show ${NOTICE}`],
    text({ tries, last_attempt: _last, ...notice }) {
      const attempts = listed<AttemptView>('No attempt yet.', {
        at: 'at',
        ms: 'duration_ms',
        outcome: outcomeText,
        status: ({ status }) => status ?? 'none',
        url: ({ url }) => url ?? 'none',
        detail: 'detail',
      });
      return `${facts(notice)}\n${attempts(tries)}`;
    },
  },
  'notices replay': {
    about: 'send a notice again now, or all of a window that --since and --until name',
    examples: [
      `puente notices replay ${NOTICE} --reason 'the shop lost it'`,
      "puente notices replay --since 2026-01-31T09:00:00Z --until 2026-01-31T10:00:00Z --reason 'outage' --dry-run",
    ],
    flags: { states: 'state' },
    either: 'Name either one notice, or a window with --since and --until',
    text(answer) {
      if ('id' in answer) return `notice ${answer.id} is ${answer.state}, due ${answer.next_attempt_at ?? 'never'}`;
      const { notices, dry_run, delivered_left_out: left } = answer;
      const line = `notices ${dry_run ? 'that would be redelivered' : 'due now'}: ${notices}`;
      return left === 0 ? line : `${line}; ${left} delivered left out, --state delivered takes them in`;
    },
  },
};

export const incidentFaces: Faces = {
  'incidents list': {
    notes: `
Each is opened once for its merchant and kind, and counted up until it closes: by itself when it is over, or with
puente incidents close where only a person can judge (mismatch, data_lost, bulk_stopped).`,
    examples: ['puente incidents list --state open', 'puente incidents list --merchant "café sur" --kind mismatch'],
    text: listed('No incident matches.', {
      incident: 'id',
      opened: 'opened_at',
      state: ({ state, closed_at }) => (closed_at === null ? state : `closed ${closed_at}`),
      merchant: ({ merchant, name }) => namedAs(merchant ?? 'all', name),
      kind: ({ kind, subject }) => (subject === null ? kind : `${kind} ${subject}`),
      count: 'count',
      why: 'reason',
    }),
  },
  'incidents close': {
    examples: [`puente incidents close ${NOTICE} --reason "compared with the panel of the vendor"`],
    text: ({ id, kind, merchant, name }) =>
      `incident ${id} is closed: ${kind}, merchant ${namedAs(merchant ?? 'all', name)}`,
  },
  'alerts list': {
    examples: ['puente alerts list'],
    text: listed('No receiver is set: see alerts.receivers in config/README.md.', {
      receiver: 'receiver',
      host: 'host',
      form: 'form',
      kinds: ({ kinds }) => kinds.join(' '),
      waiting: 'waiting',
      last: ({ last, refused }) => refused ?? (last === null ? 'none' : `${last.state}: ${last.detail}`),
    }),
  },
  'alerts test': {
    examples: [
      'puente alerts test --reason "a new channel"',
      'puente alerts test --receiver ops --reason "its new address"',
    ],
    exits: { done: 'it was delivered to every receiver', failed: 'one did not answer 2xx, or the settings name none' },
    text: ({ tests }) =>
      table(
        {
          receiver: 'receiver',
          result: ({ is_delivered }) => (is_delivered ? 'delivered' : 'failed'),
          detail: 'detail',
        },
        tests,
      ),
    exit: ({ are_acknowledged }) => (are_acknowledged === false ? exitCodes.failed : exitCodes.done),
  },
};

export const auditFaces: Faces = {
  'audit list': {
    examples: ['puente audit list --merchant 700100200 --action stage', 'puente audit list --merchant centro'],
    text: listed('No decision matches.', {
      line: 'sequence',
      at: 'at',
      who: 'who',
      action: 'action',
      subject: ({ subject, merchant_name }) => withName(subject, merchant_name),
      change: ({ change, detail }) => change || shortly(detail),
      reason: 'reason',
    }),
  },
  'audit verify': {
    notes: `
The lines alone can't show that the newest ones were cut off. Store the head hash elsewhere and pass it with --expect next time.`,
    examples: ['puente audit verify', 'puente audit verify --expect 128:9f2c...'],
    exits: { done: 'intact', broken_chain: 'broken: the first wrong line is named' },
    made: ['expect_sequence', 'expect_hash'],
    more: (verify: Command) =>
      void verify.option(
        '--expect <sequence:hash>',
        'a head that an earlier check printed: it must still be in the chain',
        markOf,
      ),
    input: ({ options }) => (options.expect ?? {}) as Given['fields'], // made by `markOf`
    is_long: true,
    text: verdictOf,
    exit: ({ intact }) => (intact ? exitCodes.done : exitCodes.broken_chain),
  },
};

/** Verifies the chain that a report relies on; a broken chain goes to standard error and sets the exit code. */
export async function warnOfBrokenChain(options: Output): Promise<void> {
  const report = (await callOps(options, { method: 'GET', path: '/api/audit/verify' }, true)) as ChainView; // the API's own shape
  if (report.intact) return;
  process.stderr.write(`${plain(verdictOf(report))}\nThe decisions and incidents of the report are not proven.\n`);
  process.exitCode = exitCodes.broken_chain;
}

function verdictOf({ lines, head, expected, broken }: ChainView): string {
  const end = head === null ? 'The chain is empty.' : `Its head is ${head.sequence}:${head.hash}`;
  if (broken !== null) {
    return `The chain is broken at line ${broken.sequence}: ${broken.reason}.\n${lines === 1 ? '1 line before it is' : `${lines} lines before it are`} valid.\nSomething else than Puente wrote to the database. Keep it as it is, and compare the lines with those of a backup: puente backups list`;
  }
  const known = expected === null ? '' : `\nLine ${expected.sequence}, given with --expect, is still in the chain.`;
  return `The chain is intact: ${counted(lines, 'line')}.\n${end}${known}`;
}

/** The first facts of a line without a change, in some 80 characters; `--json` has all. */
function shortly(detail: Record<string, unknown>): string {
  const text = factText(detail);
  return text.length <= 80 ? text : `${text.slice(0, 80).replace(/,[^,]*$/, '')}, …`;
}

function markOf(text: string): { expect_sequence: string; expect_hash: string } {
  const [, sequence, hash] = /^(\d{1,15}):([0-9a-fA-F]{64})$/.exec(text) ?? [];
  if (sequence === undefined || hash === undefined)
    throw new InvalidArgumentError('A line number, a colon and the 64 hex digits of its hash are needed.');
  return { expect_sequence: sequence, expect_hash: hash };
}
