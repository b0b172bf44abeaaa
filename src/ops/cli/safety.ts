/** Commands and text output of safety stops. */
import type { Answers } from '../api/api.ts';
import type { Named } from '../seen.ts';
import { stagesText } from './merchants.ts';
import { type Columns, counted, exitCodes, listed, merchantCell, namedAs, ofOneMerchant, table } from './output.ts';
import type { Faces } from './rows.ts';

type SafetyView = Answers['GET /api/merchants/:id/safety'];
type Trip = Omit<Answers['GET /api/safety']['stops'][number], 'merchant_name'>;
const trips: Columns<Trip> = {
  kind: 'kind',
  since: 'at',
  why: 'why',
  intended: 'intended',
  calls: ({ evidence }) => callIds(evidence),
  reset: ({ merchant_id, kind }) => `puente safety reset ${merchant_id} --kind ${kind} --reason …`,
};

export const safetyFaces: Faces = {
  'safety show': {
    about: 'every safety stop in force; of one merchant also how near it is, and what trips it',
    notes: `
A safety stop takes a kind of a merchant's new work back to shadow when too many calls on orders are faults or slow,
or at five faults in a row without a successful call between them, whatever the number of calls.
A create, cancel or refund that failed is one fault, with all its retries and all calls that are refused because of it; after a create that upstream refused, or that could not be sent there, further ones of its unit and amount are its retries for 15 seconds.
\`puente trace\` opens each call by its id. Outcomes caused by a shop or a card never count. The operator's stage stays set, and applies again after the reset.
Whether it acts is a setting: \`puente merchants set MERCHANT --safety-stop off|observe|armed --reason …\`.`,
    examples: ['puente safety show', 'puente safety show 700100200'],
    exits: ofOneMerchant.exits,
    text: (answer) => ('mode' in answer ? (answer.unseen ?? safetyText(answer)) : allStops(answer)),
    exit: (answer) => ('mode' in answer ? ofOneMerchant.exit(answer) : exitCodes.done),
  },
  'safety reset': {
    examples: ['puente safety reset 700100200 --kind intents --reason "upstream works again"'],
    text: ({ id, name, revision, in_force }, { fields }) =>
      `merchant ${namedAs(id, name)}: the safety stop of ${fields.kind} is reset, revision ${revision}\nstage: ${stagesText(in_force)}`,
  },
};

const allStops = listed<Named<Trip>>('No safety stop is in force.', { merchant: merchantCell, ...trips });

const past: Columns<SafetyView['history'][number]> = {
  at: 'at',
  kind: 'kind',
  what: ({ stopped }) => (stopped ? 'stopped' : 'would have stopped'),
  why: 'why',
  calls: callIds,
};

function tripsAfter({ faults_left, slow_left, why }: SafetyView['now'][number]): string {
  if (why !== null) return why;
  return `${counted(faults_left, 'more fault')}${slow_left === null ? '' : ` or ${counted(slow_left, 'more slow call')}`}`;
}

function callIds({ exchanges }: { exchanges: readonly string[] }): string {
  return exchanges.slice(0, 3).join('\n');
}

function safetyText({ merchant_id, merchant_name, mode, rules, trips: stops, now, history }: SafetyView): string {
  const { fault_share, slow_share, slow_ms, min_sample, window_ms, faults_in_a_row } = rules;
  return [
    `safety stop of merchant ${namedAs(merchant_id, merchant_name)}: ${mode}`,
    `It trips when, of ${min_sample} calls or more in ${window_ms / 60_000} min, ${fault_share} % are faults or ${slow_share} % take ${slow_ms / 1000} s or longer; and at ${faults_in_a_row} faults in a row.`,
    listed<Trip>('No safety stop is in force.', trips)(stops.map((stop) => ({ ...stop, merchant_id }))),
    listed<SafetyView['now'][number]>('No call on orders is counted now.', {
      kind: 'kind',
      calls: 'calls',
      faults: 'faults',
      slow: 'slow',
      'in a row': 'in_a_row',
      'trips after': tripsAfter,
      'of them': callIds,
    })(now),
    ...(history.length === 0 ? [] : [table(past, history)]),
  ].join('\n');
}
