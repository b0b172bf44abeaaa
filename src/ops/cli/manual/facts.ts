/** What the manual says of commands beside their own words: arguments, exit codes and variables, each told once for all. */
import { exitCodes } from '../output.ts';

/** Arguments that mean the same wherever they stand. */
export const ARGUMENTS: Readonly<Record<string, string>> = {
  merchant: "a merchant's id: the vendor's user id, as `puente merchants list` shows it",
  merchants: 'ids of merchants, one after the other',
  move: 'the id of a proposed move, as `puente moves list` shows it',
  bulk: 'the id of a bulk move, as `puente bulk list` shows it',
  brownout: 'the id of a window, as `puente brownout list` shows it',
  notice: 'the id of a notice, as `puente notices list` shows it',
  signature: 'the signature of a difference, as `puente differences list` shows it',
  exchange: 'the id of a call, as the story of a sale shows it',
  id: 'any id or reference that somebody has of a sale',
  file: 'the path of a file',
  before: 'the earlier report',
  after: 'the later report',
};

/** Codes that all commands share, as the manual's first lines. */
export const EXITS: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.done, 'done'],
  [exitCodes.failed, 'refused or failed; the sentence says what is missing and which command gives it'],
  [exitCodes.usage, 'wrong usage'],
  [exitCodes.blocked, 'blocked: the verdict names what blocks, or the comparison what still differs'],
  [exitCodes.inconclusive, 'inconclusive: too little was seen, replayed or compared to say'],
  [exitCodes.broken_chain, 'the chain of decisions is broken'],
  [exitCodes.changed, "changed: today's tables would do something else"],
];

/** Codes by command that mean more than above, or that only some commands give. */
export const EXITS_OF: Readonly<Record<string, Readonly<Partial<Record<keyof typeof exitCodes, string>>>>> = {
  serve: { done: 'stopped when it was asked to', failed: 'the start was refused, or the store failed' },
  init: { done: 'written', failed: 'not written: something is there already, or the settings contradict each other' },
  check: { done: 'all proofs hold', failed: 'a proof fails' },
  explain: { done: 'translated', failed: 'refused, as the till would be; or not understood' },
  assess: {
    done: 'every merchant is ready',
    blocked: 'a merchant is blocked',
    inconclusive: 'none is blocked, and of one too little was seen',
  },
  'can-migrate': { done: 'ready', blocked: 'something is in the way', inconclusive: 'too little is proven' },
  stage: { done: 'moved, or proposed to a second person', failed: 'refused: something is missing' },
  'bulk start': { done: 'started; with --follow all are moved', failed: 'refused; with --follow some are not moved' },
  'bulk show': { done: 'shown; with --follow all are moved', failed: 'failed; with --follow some are not moved' },
  reconcile: {
    done: 'nothing differs any more',
    blocked: 'something is left that differs',
    inconclusive: 'not everything could be compared',
  },
  replay: {
    done: 'no change',
    inconclusive: 'too little was replayed to rule changes out',
    changed: "today's tables would do something else",
  },
  report: {
    done: 'whole, and the chain of decisions is intact',
    broken_chain: 'what it says of decisions is not proven',
  },
  'audit verify': { done: 'intact', broken_chain: 'broken: the first wrong line is named' },
  doctor: { done: 'no problem; warnings and notes may stand', failed: 'a problem stands, or nobody could look' },
  erase: { done: 'counted or erased', blocked: 'open work is in the way' },
};

/** Variables that a command reads beside the options that name theirs. */
export const VARIABLES_OF: Readonly<Record<string, readonly (readonly [name: string, meaning: string])[]>> = {
  serve: [
    ['PUENTE_CONFIG', 'a YAML file laid over config/default.yaml'],
    ['PUENTE_…', 'every setting, as config/README.md lists them; they win over the file'],
  ],
  init: [
    ['PUENTE_WEBHOOK_SECRET', 'with --webhook-secret: the secret'],
    ['PUENTE_POSTGRES_URL', 'with --postgres: the address of the database'],
  ],
  'merchants set': [
    ['PUENTE_NOTICE_URL', 'with --notify -: the URL'],
    ['PUENTE_NOTICE_SECRET', 'with --notice-secret: the secret'],
    ['PUENTE_CREDENTIAL', "with --credential: the merchant's access token"],
  ],
  'migrate-store': [['PUENTE_CONFIG, PUENTE_…', 'the settings of both stores, as for the start']],
  doctor: [['PUENTE_CONFIG, PUENTE_…', 'with --offline: the settings, as for the start']],
};

/** Of every command that asks the ops door. */
export const OPS_VARIABLES: readonly (readonly [name: string, meaning: string])[] = [
  ['PUENTE_OPS_URL', 'where the ops door is; --ops wins'],
  ['PUENTE_OPS_TOKEN', 'your bearer token, which is needed; what you may do follows from its role'],
];
