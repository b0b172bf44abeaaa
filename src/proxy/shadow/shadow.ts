/** The shadow of a legacy create: the order that would have been sent, and what would have become of it; on paper only. */
import { errorBody, type Family, legacyError } from '../../contract/legacy-errors.ts';
import { PuenteError } from '../../error.ts';
import type { Tables, Translated } from '../../mapping/tables.ts';
import type { ShadowFinding } from '../evidence/exchange.ts';
import { redactLosses, redactName } from '../evidence/redact.ts';
import type { ShadowTask } from '../runtime.ts';
import { type Asked, askedOf, knownOperation, makesOrder, pathRefusal } from './asked.ts';
import { type Prediction, predict, predictedBody } from './predict.ts';

/** Everything a shadow is handed. There is no way from here to anything that sends: keep it so. */
export interface ShadowTools {
  tables: Tables;
  /** Takes out what must not be kept (`proxy/evidence/redact.ts`). */
  redact(value: unknown): unknown;
  /** Milliseconds with fractions, from any start: `performance` is one. */
  clock: { now(): number };
}

/** What is found beside the time it took. */
type Found = Omit<ShadowFinding, 'took_ms'>;

/** True for a task whose operation makes an order. */
export function hasShadow(tables: Tables, task: ShadowTask): boolean {
  const operation = knownOperation(tables, task);
  return operation !== null && makesOrder(operation);
}

/**
 * Translates a create by the tables of the real lane and predicts the answer. Pure, but for the clock it is handed.
 * @throws PuenteError not_found, for an operation that makes no order; bad_tables, for tables that do not hold.
 */
export function shadowOf(tools: ShadowTools, task: ShadowTask): ShadowFinding {
  const started = tools.clock.now();
  const asked = askedOf(tools.tables, task);
  if (!makesOrder(asked.operation))
    throw new PuenteError('not_found', `${asked.operation.name} makes no order, so it has no shadow.`);
  const found = findingOf(tools, task, asked);
  // A rule names the field, and a till may call its fields anything.
  const detail = found.detail === null ? null : redactName(found.detail);
  return { ...found, detail, took_ms: tools.clock.now() - started };
}

function findingOf(tools: ShadowTools, task: ShadowTask, asked: Asked): Found {
  const { operation, source, context } = asked;
  // The door of the real lane refuses such a body before any story.
  if (!isJsonObject(source.body))
    return refusedHere(toldOf(operation.family, 'bad_json', ''), 'the body is no JSON object');
  const refusal = pathRefusal(operation, task);
  if (refusal !== null) {
    return refusedHere(toldOf(operation.family, refusal.error, refusal.detail), 'the path names no till of the seller');
  }
  let translated: Translated;
  try {
    translated = tools.tables.request(operation, source, context);
  } catch (error) {
    return refusedByTable(tools.tables, operation.family, error);
  }
  const { exponent } = tools.tables.site(task.site);
  const order = translated.value.body;
  // Whether the token is of OAuth, and what the seller has agreed to, only the service knows.
  const unknown = { is_oauth: null, is_marketplace: null, may_hand_out_cash: null };
  const prediction = predict(order, { site: task.site, exponent, has_key: true, ...unknown });
  const verdict = prediction === null ? ACCEPTED : refusedThere(tools.tables, asked, prediction);
  return { ...verdict, order: tools.redact(order), fired: translated.fired, losses: redactLosses(translated.losses) };
}

function isJsonObject(body: unknown): boolean {
  return body !== null && typeof body === 'object' && Object.getPrototypeOf(body) === Object.prototype;
}

type Verdict = Pick<ShadowFinding, 'verdict' | 'status' | 'code' | 'error' | 'detail'>;

const ACCEPTED: Verdict = { verdict: 'accepted', status: null, code: null, error: null, detail: null };

/** Told to the till by the same rows as a real refusal. */
function refusedThere(tables: Tables, { operation, context }: Asked, prediction: Prediction): Verdict {
  const { status, code, detail } = prediction;
  const row = tables.error(operation.family, 'create', status, predictedBody(prediction), context);
  const { error } = toldOf(operation.family, row.error, row.detail);
  return { verdict: 'refused_there', status, code, error, detail };
}

/** @throws what is no refusal. */
function refusedByTable(tables: Tables, family: Family, error: unknown): Found {
  if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
  const { error: name, detail, row } = error.facts;
  const by = row === undefined ? null : tables.row(String(row));
  const why = by === null ? 'the legacy contract' : `${by.why} (${by.row})`;
  // The row that refused is the last one that fired, so that coverage knows whose field it was.
  const fired = row === undefined ? [] : [String(row)];
  return { ...refusedHere(toldOf(family, String(name), String(detail ?? '')), why), fired };
}

/** A message names fields, and a till may call its own whatever it likes. */
const MAX_MESSAGE = 200;

function refusedHere({ error, message }: Told, why: string): Found {
  const nothing = { order: null, fired: [], losses: [] };
  // Which element of a list it was makes it no other refusal.
  const detail = `${message.replaceAll(/\[\d+\]/g, '[]').slice(0, MAX_MESSAGE)}: ${why}`;
  return { verdict: 'refused_here', status: null, code: null, error, detail, ...nothing };
}

/** The two texts of the till's error body. */
interface Told {
  error: string;
  message: string;
}

function toldOf(family: Family, name: string, detail: string | null): Told {
  const entry = legacyError(family, name) ?? legacyError(family, 'internal');
  if (entry === null) throw new PuenteError('bad_tables', `the catalogue of ${family} has no internal error`);
  const body = errorBody(family, entry, detail ?? '');
  return { error: String(body.error), message: String(body.message) };
}
