/** Commands and text output of ramps. */
import { InvalidArgumentError } from 'commander';
import type { RampPreview, RampView } from '../moves/ramp.ts';
import type { RampStepView } from '../moves/ramp-evidence.ts';
import { stepsIn } from '../moves/typed-lists.ts';
import { judgementText, MOVE } from './moves.ts';
import { listed, merchantCell, namedAs, table } from './output.ts';
import type { Faces } from './rows.ts';

export const rampFaces: Faces = {
  ramp: {
    about: 'raise merchants in steps, each as far as its evidence allows',
    notes: `
A merchant begins on shadow or on a canary. Each step puts a share of its units on orders; 100 is stage orders. It goes on when the
step has lasted the time of --soak and has the paid sales of --min-sales on orders, few faults, a latency near that of legacy, and no
open finding, and when the next move is allowed as a single one (evidence, window). Otherwise it waits, and
\`puente ramps show\` says for what. After a safety stop the merchant goes one step back, from the first to where it began, and the whole ramp is
paused. Where a second approver is needed, one approval is for all steps.`,
    examples: [
      'puente ramp 700100200 --steps 5,25,50,100 --soak 2h --min-sales 50 --dry-run',
      'puente ramp 700100200 --steps 5,25,50,100 --soak 2h --min-sales 50 --reason "week 1"',
      'puente ramp --where stage=shadow --where verdict=ready --steps 10,50,100 --soak 1d --min-sales 200 --reason "wave 2"',
    ],
    exits: { done: 'started, or proposed to a second person', failed: 'refused' },
    args: ['merchants'],
    made: ['steps', 'soak_ms'],
    more: (ramp) =>
      void ramp
        .requiredOption('--steps <percents>', 'percent of the units, ascending, such as 5,25,50,100', stepsIn)
        .requiredOption('--soak <time>', 'how long each step is watched at least, such as 30m, 2h or 1d', durationOf),
    input: ({ fields, options: { steps, soak: soak_ms } }) => ({ ...fields, steps, soak_ms }),
    text: (answer) => (Array.isArray(answer) ? previewText(answer) : rampText(answer)),
  },
  'ramps list': {
    examples: ['puente ramps list --open', 'puente ramps list --merchant centro'],
    text: listed('No ramp matches; `puente ramp --help` says how to start one.', {
      ramp: 'id',
      started: 'created_at',
      by: 'who',
      state: 'state',
      steps: ({ steps }) => steps.join(' '),
      // A merchant that left it, as by a rollback, is no longer where the ramp has put it.
      merchants: ({ merchants }) =>
        merchants
          .map((one) => `${merchantCell(one)} ${one.state === 'skipped' ? 'out of the ramp' : one.now}`)
          .join('\n'),
    }),
  },
  'ramps show': {
    about: 'a ramp merchant by merchant, or what the next step of one of them waits for',
    examples: [`puente ramps show ${MOVE}`, `puente ramps show ${MOVE} 700100200`],
    text: (answer) => ('conditions' in answer ? stepText(answer) : rampText(answer)),
  },
  'ramps approve': {
    notes: 'The person who proposed it can not approve it. Each step is judged when its time has come.',
    examples: [`puente ramps approve ${MOVE} --reason "looked at the steps with the shop"`],
    text: rampText,
  },
  'ramps pause': { examples: [`puente ramps pause ${MOVE} --reason "a holiday"`], text: rampText },
  'ramps resume': { examples: [`puente ramps resume ${MOVE} --reason "repaired"`], text: rampText },
  'ramps cancel': { examples: [`puente ramps cancel ${MOVE} --reason "not now"`], text: rampText },
};

const MILLISECONDS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function durationOf(text: string): number {
  const [, count, unit = ''] = /^(\d{1,4})([smhd])$/.exec(text) ?? [];
  const each_ms = MILLISECONDS[unit];
  if (each_ms === undefined) throw new InvalidArgumentError('Write it as 30m, 2h or 1d.');
  return Number(count) * each_ms;
}

function rampText({ id, state, why, steps, min_sales, merchants, ...ramp }: RampView): string {
  const minutes = Number((ramp.soak_ms / 60_000).toFixed(1));
  const soak = minutes < 120 ? `${minutes} min` : `${Number((minutes / 60).toFixed(1))} h`;
  const head = `ramp ${id}: ${state}, steps ${steps.join(', ')}; each lasts ${soak} or longer, paid sales ${min_sales} or more`;
  const approve = `Another approver can approve it until ${ramp.expires_at}: puente ramps approve ${id} --reason …`;
  const next = state === 'proposed' ? approve : why;
  const rows = table(
    {
      merchant: merchantCell,
      state: 'state',
      step: ({ step }) => `${step} of ${steps.length}`,
      now: 'now',
      since: 'since_at',
      why: 'why',
    },
    merchants,
  );
  return [head, ...(next === '' ? [] : [next]), rows].join('\n');
}

function stepText({ merchant_id, merchant_name, step, of, now, next, ...rest }: RampStepView): string {
  const { since_at, conditions } = rest;
  const head = `merchant ${namedAs(merchant_id, merchant_name)}: ${now}, step ${step} of ${of}, since ${since_at}; next ${next ?? 'the end'}`;
  if (conditions.length === 0) return `${head}\nIt has ended its steps.`;
  const rows = table({ condition: 'condition', met: ({ is_met }) => (is_met ? 'yes' : 'no'), now: 'what' }, conditions);
  return `${head}\n${rows}`;
}

function previewText(merchants: RampPreview['merchants']): string {
  return merchants
    .map(({ merchant_id, merchant_name, from, steps, judgement }) => {
      const path = `merchant ${namedAs(merchant_id, merchant_name)} would go from ${from} to ${steps.join(', then ')}; the first step now`;
      return `${path}:\n${judgementText(judgement)}`;
    })
    .join('\n');
}
