/** Makes a plan from a seed: the events and the failures of a shop's day. */
import { type Random, seeded } from '../crash/random.ts';
import { faults, mails, type Plan, receiverMoods, type Step, tills, type Variant, variants } from './steps.ts';

/** Enough steps for two or three failures at once, few enough for thousands of plans. */
const FEWEST_STEPS = 6;
const MOST_STEPS = 16;
/** About the time until a call is recorded: events within it hit the call half way. */
const CALL_MS = 45;
const LAST_MS = 10_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Partial refunds, minor units: less than the smallest sale. */
const PARTS_MINOR = [1, 250, 500] as const;
const YEAR_MS = 365 * 24 * HOUR_MS;

/** Failpoints for kills; the crash rig has more of them, on a real disk. */
export const points = [
  'create.before_row',
  'create.row_written',
  'create.before_send',
  'create.answer_read',
  'create.settled',
  'answer.sent',
  'order.applied',
  'notices.committed',
  'notice.sent',
  'notice.recorded',
  'refund.row_written',
  'refund.answer_read',
  'refund.settled',
  'cancel.marked',
  'cancel.sent',
  'event.before_inbox',
  'event.received',
  'stage.before_save',
  'stage.saved',
  'store.group_posted',
] as const;

export function planOf(seed: number): Plan {
  const random = seeded(seed);
  const variant = variants[seed % variants.length] ?? 'V1';
  const steps: Step[] = [];
  const moving = random.chance(0.3);
  const refunding = random.chance(0.3);
  const count = random.between(FEWEST_STEPS, MOST_STEPS);
  const used = [random.between(0, tills.length - 1), random.between(0, tills.length - 1)] as const;
  let sales = 0;
  while (steps.length < count) {
    const after_ms = pause(random);
    const till = random.pick(used);
    const sale = random.between(Math.max(1, sales - 2), Math.max(1, sales));
    const makers: [Maker, ...Maker[]] = [...usual, ...odd];
    if (moving) makers.push(moveOf, moveOf);
    if (refunding) makers.push(...back);
    const make = sales === 0 ? newSale : random.pick(makers);
    if (make === newSale) sales++;
    if (make === newSale && random.chance(0.2))
      steps.push(...saleWhoseAnswerIsLost(random, after_ms, { till, sale: sales }));
    else if (make === newSale && random.chance(0.1))
      steps.push(...twoEqualSales(random, after_ms, { till, sale: sales }));
    else if (make === newSale && refunding && random.chance(0.5))
      steps.push(...saleThatIsRefunded(random, after_ms, { till, sale: sales }));
    else if (make === moveOf && random.chance(0.5))
      steps.push(...saleThatMeetsMove(random, after_ms, { till, sale: ++sales }));
    else steps.push({ after_ms, ...make(random, { till, sale: make === newSale ? sales : sale }) });
    if (make === clock && random.chance(0.3))
      steps.push(...clockSetTwice(random, { till, sale: sales + 1 }, () => sales++));
  }
  // Failures of the last step get some time, too, before all faults end.
  steps.push({ after_ms: random.between(0, LAST_MS), do: 'wait' });
  const plan: Plan = {
    seed,
    variant,
    world: worldOf(variant, random),
    ...(random.chance(0.25) ? { dates_ahead_ms: random.between(1_000, 5_000) } : {}),
    receivers_read: random.chance(0.6),
    product: {
      declined: random.chance(0.8) ? 'error' : 'finished',
      unclaimed: random.chance(0.8) ? 'cancel-unclaimed' : 'adopt',
      sweep: random.chance(0.1),
      stop: random.chance(0.1) ? 'armed' : 'off',
      looks: random.chance(0.15) ? 'often' : 'rarely',
    },
    stages: [stageOf(random, moving), stageOf(random, moving)],
    steps,
  };
  return seed % RAMPS_OF === 0 ? withRamps(plan, random) : plan;
}

/** One plan of so many has ramps: their evidence makes a run slower. */
const RAMPS_OF = 25;
/** Ramp steps need sales and time: so many things happen after each step of the plan. */
const ROUNDS = 5;

const READS = 25;
const LOST = ['refused', 'lost before', 'lost after'] as const;

/** Merchants begin on a canary, sell more, and meet ramps, their looks, and safety stops at any moment. */
function withRamps(plan: Plan, random: Random): Plan {
  const merchant = (): number => random.between(0, 1);
  const of_all = random.chance(0.5);
  /** A pilot's creates fail now and then, among so many reads that they are a small share. */
  const is_shaky = random.chance(0.5);
  /** A read shows another amount now and then: an open finding, which only a sweep takes back. */
  const is_misread = random.chance(0.4);
  let sale = plan.steps.length; // above every sale of the plan
  const more = (): Step[] => {
    const after_ms = random.chance(0.5) ? random.between(0, 2_000) : random.between(2_000, 2 * MINUTE_MS);
    const what = random.between(1, is_shaky ? 44 : 40);
    const till = is_shaky ? 0 : random.between(0, tills.length - 1);
    if (what <= 16) return [{ after_ms, do: 'look' }];
    if (what <= 22) return [{ after_ms, do: 'ramp', merchant: merchant(), pauses: random.chance(0.15), of_all }];
    if (what === 23) return [{ after_ms, do: 'trip', merchant: merchant() }];
    if (what > 42)
      return Array.from({ length: READS }, (): Step => ({ after_ms: 100, do: 'read', sale: random.between(1, sale) }));
    const trouble: Step[] = [];
    if (what > 40)
      trouble.push({ after_ms: 0, do: 'fault', call: 'create', what: random.pick(LOST), times: random.between(1, 9) });
    if (is_misread && random.chance(0.1))
      trouble.push({ after_ms: 0, do: 'fault', call: 'get', what: 'other sum', times: 1 });
    return [
      ...trouble,
      { after_ms, ...newSale(random, { till, sale: ++sale }) },
      { after_ms: 1_000, ...payment(till, sale) },
    ] as Step[]; // the makers' own
  };
  // With much trouble no ramp goes far: a clock that leaps and a stop make a step's time and evidence begin anew.
  const isTrouble = (step: Step): boolean => ['clock', 'fault', 'outage', 'token', 'move'].includes(step.do);
  const kept = random.chance(0.6) ? plan.steps.filter((step) => !isTrouble(step)) : plan.steps;
  const start = [0, 1].map((one): Step => ({ after_ms: 0, do: 'ramp', merchant: one, pauses: false, of_all }));
  return {
    ...plan,
    product: { ...plan.product, stop: 'armed' },
    stages: ['canary', 'canary'],
    ramps: true,
    steps: [...start, ...kept.flatMap((step) => [step, ...Array.from({ length: ROUNDS }, more).flat()])],
  };
}

/** Moves a merchant while a sale of one of its tills is in flight. */
function saleThatMeetsMove(random: Random, after_ms: number, chosen: Chosen): Step[] {
  const merchant = tills[chosen.till]?.merchant ?? 0;
  const move: Step = { ...moveOf(random, chosen), merchant, after_ms: random.between(0, CALL_MS) } as Step; // a move, of another merchant
  return [{ after_ms, ...newSale(random, chosen) }, move];
}

/** The customer pays while the till's create is unanswered, and the till repeats it. */
function saleWhoseAnswerIsLost(random: Random, after_ms: number, chosen: Chosen): Step[] {
  const { till, sale } = chosen;
  const soon = (): number => random.between(50, 4_000);
  const trouble = random.pick(['upstream', 'upstream', 'on its way', 'on its way', 'death']);
  const lost: Step = {
    after_ms: 0,
    do: 'fault',
    call: 'create',
    what: random.pick(['lost after', 'slow', 'truncated', 'error after']),
    times: random.between(1, 6),
  };
  const sell = { ...newSale(random, chosen), after_ms: trouble === 'upstream' ? 0 : after_ms } as SellStep; // the maker's own
  const selling: SellStep = {
    ...sell,
    keyed: random.chance(0.6),
    retries: random.chance(0.7),
    lost_answers: trouble === 'on its way' ? random.between(1, 3) : 0,
  };
  const death = random.pick(['create.answer_read', 'create.settled', 'answer.sent']);
  const before: Step[] =
    trouble === 'upstream'
      ? [{ ...lost, after_ms }]
      : trouble === 'death'
        ? [{ after_ms: 0, do: 'kill', point: death, nth: 1, down_ms: random.between(100, 3_000) }]
        : [];
  const agains = Array.from(
    { length: random.between(0, 2) },
    (): Step => ({
      after_ms: random.chance(0.8) ? soon() : random.between(4_000, 90_000),
      do: 'again',
      sale,
      patience_ms: null,
    }),
  );
  return [...before, selling, { after_ms: soon(), ...payment(till, sale) }, ...agains];
}

/** Two coffees: the first is paid, its till reads that or not, and the cashier sells an equal one. */
function twoEqualSales(random: Random, after_ms: number, chosen: Chosen): Step[] {
  const { till, sale } = chosen;
  const soon = (): number => random.between(500, 8_000);
  const paid = (): Step => ({ after_ms: soon(), ...payment(till, sale) });
  const sell = { after_ms, ...newSale(random, chosen), patience_ms: null } as SellStep; // the maker's own
  return [
    { ...sell, retries: random.chance(0.5) },
    paid(),
    ...(random.chance(0.8) ? [{ after_ms: soon(), do: 'read', sale } as const] : []),
    { after_ms: soon(), do: 'again', sale, patience_ms: null },
    paid(),
  ];
}

function payment(till: number, sale: number): Made<Step> {
  return tills[till]?.kind === 'point' ? { do: 'terminal', till, act: 'pay' } : { do: 'buyer', sale, act: 'pay' };
}

/** Sets the clock again before the product's next check, mostly back, possibly with a sale in between. */
function clockSetTwice(random: Random, chosen: Chosen, sold: () => void): Step[] {
  const between: Step[] = [];
  if (random.chance(0.6)) {
    sold();
    between.push({ after_ms: random.between(0, 1_500), ...newSale(random, chosen) });
  }
  return [...between, { after_ms: random.between(0, 3_000), ...clock(random, chosen) }];
}

/** A sale is paid and refunded later, possibly with a failure and retries of the till. */
function saleThatIsRefunded(random: Random, after_ms: number, chosen: Chosen): Step[] {
  const { till, sale } = chosen;
  const soon = (): number => random.between(200, 5_000);
  const paid = payment(till, sale);
  const trouble = random.chance(0.6)
    ? [{ after_ms: 0, ...random.pick([refundFault, refundFault, refundDeath])(random, chosen) } as Step] // the makers' own
    : [];
  const repeats = Array.from({ length: random.between(0, 2) }, () => ({
    after_ms: pause(random),
    ...random.pick([refundAgain, refundAgain, refund])(random, chosen),
  })) as Step[];
  return [
    { after_ms, ...newSale(random, chosen) },
    { after_ms: soon(), ...paid },
    ...trouble,
    { after_ms: soon(), ...refund(random, chosen) },
    ...repeats,
  ];
}

/** Mostly at once or a moment later, sometimes much later. */
function pause(random: Random): number {
  if (random.chance(0.35)) return random.between(0, 60);
  if (random.chance(0.6)) return random.between(60, 3_000);
  return random.chance(0.7) ? random.between(3_000, MINUTE_MS) : random.between(MINUTE_MS, 20 * MINUTE_MS);
}

function stageOf(random: Random, moving: boolean): Plan['stages'][number] {
  return moving ? random.pick(['legacy', 'canary', 'orders', 'orders']) : 'orders';
}

/** Behaviour that the vendor's pages leave open (`docs/protocol.md` §3.1). */
function worldOf(variant: Variant, random: Random): Record<string, unknown> {
  const replay = { V1: 'saved', V2: 'current', V3: 'conflict', V4: 'saved', V5: 'forgets' } as const;
  // A key forgotten inside the repeat window makes a second order unless references are unique (§3.5).
  const forgets_early = variant === 'V5' && random.chance(0.5);
  const unique = random.pick(['among_all', 'among_live', 'not_checked']);
  return {
    replay: replay[variant],
    replay_forget_after_minutes: forgets_early ? 5 : 15,
    reference_unique: forgets_early ? 'among_all' : unique,
    replay_status: random.pick([200, 201]),
    replay_cancels: random.pick(['saved', 'conflict']),
    replay_refunds: random.pick(['saved', 'conflict']),
    cancel_confirmation: random.pick(['at_once', 'automatic']),
    remember_refusals: random.chance(0.3),
    key_check: random.pick(['before_queue', 'after_queue']),
    second_static_order: random.pick(['independent', 'refused']),
    error_codes: random.pick(['documented', 'live']),
    point_expiry: random.pick(['expired', 'canceled']),
    action_required: random.pick(['final', 'moves_on']),
    webhook_user_id: random.pick(['string', 'number']),
    signature_casing: random.pick(['lower', 'verbatim', 'none', 'bad']),
    date_fraction_digits: random.pick([0, 3, 9]),
    legacy_expiry_ms: 15 * MINUTE_MS,
  };
}

type Chosen = { till: number; sale: number };
type SellStep = Extract<Step, { do: 'sell' }>;
type Made<S> = S extends { after_ms: number } ? Omit<S, 'after_ms'> : never;
type Maker = (random: Random, chosen: Chosen) => Made<Step>;

const newSale: Maker = (random, { till, sale }) => ({
  do: 'sell',
  sale,
  till,
  keyed: random.chance(0.4),
  own_reference: random.chance(0.5),
  copies: random.chance(0.15) ? random.between(2, 4) : 1,
  patience_ms: random.chance(0.2) ? random.between(20, 10_000) : null,
  retries: random.chance(0.4),
  lost_answers: random.chance(0.15) ? random.between(1, 3) : 0,
});

const again: Maker = (random, { sale }) => ({
  do: 'again',
  sale,
  patience_ms: random.chance(0.2) ? random.between(20, 10_000) : null,
});
const read: Maker = (_random, { sale }) => ({ do: 'read', sale });
const cancel: Maker = (_random, { sale }) => ({ do: 'cancel', sale });
const person: Maker = (random, { till }) => ({
  do: 'terminal',
  till,
  act: random.pick(['pick_up', 'pay', 'pay', 'pay', 'decline', 'cancel', 'confirm_needed']),
});
const buyer: Maker = (random, { sale }) => ({ do: 'buyer', sale, act: random.pick(['pay', 'pay', 'lock', 'unlock']) });
const fault: Maker = (random) => ({
  do: 'fault',
  call: random.pick(['create', 'create', 'create', 'get', 'cancel', 'any']),
  what: random.pick(faults),
  times: random.chance(0.6) ? 1 : random.between(2, 8),
});
const mail: Maker = (random) => ({ do: 'mail', what: random.pick(mails), times: random.between(1, 4) });
/** Every commit passes it, so its `nth` has a wider range. */
const BUSY_POINT = 'store.group_posted';
const kill: Maker = (random) => ({
  do: 'kill',
  ...deadlyPoint(random),
  down_ms: random.chance(0.7) ? random.between(100, 5_000) : random.between(5_000, 30 * MINUTE_MS),
});
function deadlyPoint(random: Random): { point: string | null; nth: number } {
  const point = random.chance(0.8) ? random.pick(points) : null;
  return { point, nth: random.between(1, point === BUSY_POINT ? 12 : 3) };
}
const stop: Maker = (random) => ({ do: 'stop', down_ms: random.between(100, MINUTE_MS) });
const clock: Maker = (random) => ({
  do: 'clock',
  by_ms: random.chance(0.08) ? -YEAR_MS : random.pick([-HOUR_MS, -5_000, 5_000, HOUR_MS, 24 * HOUR_MS]),
});
const refund: Maker = (random, { sale }) => ({
  do: 'refund',
  sale,
  minor: random.chance(0.4) ? null : random.pick(PARTS_MINOR),
  keyed: random.chance(0.4),
  copies: random.chance(0.1) ? 2 : 1,
  patience_ms: random.chance(0.2) ? random.between(20, 10_000) : null,
});
const refundAgain: Maker = (random, { sale }) => ({
  do: 'refund again',
  sale,
  patience_ms: random.chance(0.2) ? random.between(20, 10_000) : null,
});
const refundFault: Maker = (random) => ({
  do: 'fault',
  call: random.chance(0.8) ? 'refund' : 'get',
  what: random.pick(faults),
  times: random.between(1, 2),
});
const refundDeath: Maker = (random) => ({
  do: 'kill',
  point: random.pick(['refund.row_written', 'refund.answer_read', 'refund.settled', 'answer.sent']),
  nth: 1,
  down_ms: random.between(100, 5_000),
});
const forge: Maker = (random, { sale }) => ({
  do: 'forge',
  sale,
  action: random.pick(['order.processed', 'order.canceled', 'order.failed']),
  signed: random.chance(0.3),
});
const resend: Maker = (random) => ({ do: 'resend', nth: random.between(0, 5) });
const spy: Maker = (_random, { sale }) => ({ do: 'spy', sale });
const receiver: Maker = (random) => ({
  do: 'receiver',
  merchant: random.between(0, 1),
  mood: random.pick(receiverMoods),
  for_ms: random.between(1_000, 2 * HOUR_MS),
});
const outage: Maker = (random) => ({ do: 'outage', for_ms: random.between(500, 30 * MINUTE_MS) });
const token: Maker = (random) => ({ do: 'token', merchant: random.between(0, 1), good: random.chance(0.6) });
const moveOf: Maker = (random) => ({
  do: 'move',
  merchant: random.between(0, 1),
  stage: random.pick(['legacy', 'canary', 'orders']),
});

/** Refunds, in plans with refunds. */
const back: readonly Maker[] = [refund, refund, refundAgain, refundAgain, refundFault, refundDeath];

const usual: [Maker, ...Maker[]] = [
  newSale,
  newSale,
  newSale,
  again,
  again,
  read,
  read,
  cancel,
  person,
  person,
  person,
  person,
  buyer,
  buyer,
];
const odd: [Maker, ...Maker[]] = [
  fault,
  fault,
  fault,
  fault,
  mail,
  mail,
  kill,
  kill,
  stop,
  clock,
  forge,
  resend,
  spy,
  receiver,
  outage,
  token,
];
