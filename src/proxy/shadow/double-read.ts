/** Reads what both sides have on both of them, and compares the answers in legacy words; a control read takes the noise out. */
import { errorBody, legacyError } from '../../contract/legacy-errors.ts';
import { order } from '../../contract/orders.ts';
import { listTerminalsAnswer } from '../../contract/terminals.ts';
import { upstreamRoutes } from '../../contract/upstream.ts';
import { PuenteError } from '../../error.ts';
import type { ComparedField, Translated } from '../../mapping/tables.ts';
import type { ShadowTask } from '../evidence/exchange.ts';
import type { CoverageCell, DifferenceSeen } from '../records/evidence.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';
import { type Asked, askedOf, knownOperation, type ShadowTools, shown, signatureOf } from './shadow.ts';

/** A shadow that may also read; `read.ts` says what that is. */
export interface DoubleReadTools extends ShadowTools {
  orders: ReadOnlyUpstream;
  legacy: ReadOnlyUpstream;
  settings: { timeout_ms: number };
}

export interface DoubleRead {
  differences: DifferenceSeen[];
  /** Fields of the legacy answer, as `answer.devices[].pos_id`. */
  cells: CoverageCell[];
  /** What the tables made of the request; absent where orders gave no answer to it. */
  paper?: Paper;
}

/** Rows that have passed on what the call asked for, and what they lost of it. */
type Paper = Pick<Translated, 'fired' | 'losses'>;

/** True for a task whose operation both sides can read (`double_read` of `operations.yaml`). */
export function isDoubleRead(tools: Pick<ShadowTools, 'tables'>, task: ShadowTask): boolean {
  return knownOperation(tools.tables, task)?.double_read === true;
}

/**
 * The orders side of a read that legacy has answered, compared with that answer by the matchers of the tables. Errors are
 * compared too: the class of the status, and the legacy error that the till would be told. A side that gave no answer, or
 * a 401 or a 429, is no evidence. Before a difference is told legacy is read once more: what it answers otherwise by
 * itself is noise, and not told.
 */
export async function doubleRead(tools: DoubleReadTools, task: ShadowTask): Promise<DoubleRead> {
  const asked = askedOf(tools.tables, task);
  const legacy = { status: task.exchange.status, error: task.exchange.error, body: task.legacy_body };
  const isReadable = legacy.status >= 300 || legacy.body !== null;
  const orders = isReadable && isEvidence(legacy.status) ? await readOrders(tools, asked, task) : null;
  if (orders === null) return { differences: [], cells: [] };
  const found = await withoutNoise(tools, task, asked, legacy, compare(tools, asked, legacy, orders));
  const read = told(tools, asked, found);
  return orders.paper === undefined ? read : { ...read, paper: orders.paper };
}

/** What was compared, without what legacy answers otherwise by itself. */
async function withoutNoise(
  tools: DoubleReadTools,
  task: ShadowTask,
  asked: Asked,
  legacy: Told,
  found: Compared[],
): Promise<Compared[]> {
  const equal = found.filter((one) => one.difference === null);
  if (equal.length === found.length) return found;
  const control = await readLegacy(tools, asked, task);
  if (control === null) return equal;
  const noise = compare(tools, asked, legacy, control).filter((one) => one.difference !== null);
  const isNoise = (field: Compared) => noise.some(({ what, path }) => what === 'error' || path === field.path);
  return found.filter((one) => one.difference === null || !isNoise(one));
}

/** An answer in legacy words, whichever side it came from. */
interface Told {
  status: number;
  /** The `error` of a legacy error body; null on success. */
  error: string | null;
  body: unknown;
  /** Of an answer of orders. */
  paper?: Paper;
}

type Compared =
  | ({ what: 'value' } & ComparedField)
  | { what: 'error'; path: ''; difference: string | null; legacy: string; orders: string };

function compare({ tables }: ShadowTools, { operation }: Asked, legacy: Told, orders: Told): Compared[] {
  const isError = legacy.status >= 300 || orders.status >= 300;
  if (!isError)
    return tables.compare(operation, legacy.body, orders.body).map((field) => ({ what: 'value', ...field }));
  const [one, other] = [legacy, orders].map(({ status, error }) =>
    `${Math.floor(status / 100)}xx ${error ?? ''}`.trim(),
  );
  const difference = one === other ? null : `${one}, ${other}`;
  return [{ what: 'error', path: '', difference, legacy: one ?? '', orders: other ?? '' }];
}

/** Null where nothing can be told: no answer, or one about the token or the rate alone. */
async function readOrders(tools: DoubleReadTools, asked: Asked, task: ShadowTask): Promise<Told | null> {
  const { tables } = tools;
  const { operation, source, context } = asked;
  const name = readNameOf(asked);
  let translated: Translated;
  try {
    translated = tables.request(operation, source, context);
  } catch (error) {
    return refusedHere(asked, error);
  }
  const path = filled(upstreamRoutes[name].path, translated.value.path ?? {});
  const outcome = await tools.orders.read(readCall(tools, task, { name, path, query: translated.value.query ?? {} }));
  if (outcome.kind !== 'answered' || !isEvidence(outcome.status)) return null;
  if (outcome.status === 200) {
    const parsed = readers[name].safeParse(outcome.body);
    if (!parsed.success) return null;
    const answer = tables.answer(operation, parsed.data, { ...context, ...source.path });
    return {
      status: 200,
      error: null,
      body: answer.value.body,
      paper: { fired: translated.fired, losses: [...translated.losses, ...answer.losses] },
    };
  }
  const row = tables.error(operation.family, name, outcome.status, outcome.body, context);
  return inLegacyWords(asked, row.error, row.detail);
}

/** The answers that a double read can read. */
const readers = { terminals_list: listTerminalsAnswer, get: order } as const;

function readNameOf({ operation }: Asked): Exclude<ReadName, 'legacy_read'> {
  if (operation.upstream === 'get' || operation.upstream === 'terminals_list') return operation.upstream;
  throw new PuenteError('bad_tables', `${operation.name} can't be read on the orders side.`); // `check` has proved it
}

async function readLegacy(
  tools: DoubleReadTools,
  { operation, source }: Asked,
  task: ShadowTask,
): Promise<Told | null> {
  const path = filled(operation.path, source.path);
  const outcome = await tools.legacy.read(readCall(tools, task, { name: 'legacy_read', path, query: source.query }));
  if (outcome.kind !== 'answered' || !isEvidence(outcome.status)) return null;
  return { status: outcome.status, error: outcome.status < 300 ? null : errorOf(outcome), body: outcome.body };
}

function readCall(tools: DoubleReadTools, task: ShadowTask, call: Pick<ReadCall, 'name' | 'path' | 'query'>): ReadCall {
  return { ...call, token: task.token, timeout_ms: tools.settings.timeout_ms };
}

function filled(path: string, values: Record<string, string>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
}

/** 401 is about the token and 429 about the rate: neither says anything about the operation. */
function isEvidence(status: number): boolean {
  return status !== 401 && status !== 429;
}

function errorOf({ body }: Extract<ReadOutcome, { kind: 'answered' }>): string | null {
  const { error } = (body ?? {}) as { error?: unknown }; // any JSON
  return typeof error === 'string' ? error : null;
}

/** @throws what is no refusal. */
function refusedHere(asked: Asked, error: unknown): Told {
  if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
  return inLegacyWords(asked, String(error.facts.error), String(error.facts.detail ?? ''));
}

function inLegacyWords({ operation: { family } }: Asked, name: string, detail: string | null): Told {
  const entry = legacyError(family, name) ?? legacyError(family, 'internal');
  if (entry === null) throw new PuenteError('bad_tables', `the catalogue of ${family} has no internal error`);
  const body = errorBody(family, entry, detail ?? '');
  return { status: entry.status, error: String(body.error), body };
}

function told(
  { redact }: ShadowTools,
  { operation: { name: operation } }: Asked,
  found: readonly Compared[],
): DoubleRead {
  const differences = found.flatMap((field): DifferenceSeen[] => {
    const { what, path, difference, legacy, orders } = field;
    if (difference === null) return [];
    const signature = signatureOf({ operation, what, path, kind: difference });
    if (what === 'error') return [{ signature, operation, what, path, legacy: String(legacy), orders: String(orders) }];
    return [
      { signature, operation, what, path, legacy: shown(redact, path, legacy), orders: shown(redact, path, orders) },
    ];
  });
  const cells = found
    .filter(({ what }) => what === 'value')
    .map(({ path, difference }): CoverageCell => {
      // Answers tell the till's own words, too, and the names that it has given them.
      return {
        operation,
        field: `answer.${path}`,
        outcome: difference === null ? 'equal' : 'different',
        unknown: true,
      };
    });
  return { differences, cells };
}

// The only thing a shadow may ask of the outside: a read. Its type has no method, no body and no key, so no create
// fits into it.

/** The calls of the orders API that read (`docs/field-notes.md` Spec Endpoints), and a read of the legacy API. */
export const readNames = ['get', 'terminals_list', 'legacy_read'] as const;
export type ReadName = (typeof readNames)[number];

export interface ReadCall {
  name: ReadName;
  /** Absolute path, ids already checked against their pattern. */
  path: string;
  query: Record<string, string>;
  token: Secret;
  timeout_ms: number;
}

/** `answered`: a complete answer; otherwise there is nothing to compare. */
export type ReadOutcome =
  | { kind: 'answered'; status: number; body: unknown }
  | { kind: 'not_sent' | 'broken'; cause: string };

export interface ReadOnlyUpstream {
  /** Reads once. Never throws for what the network does. */
  read(call: ReadCall): Promise<ReadOutcome>;
}

// The door between shadows and a client that can write: whatever comes through it leaves as a GET without a body.

/** @param upstream the orders side or the legacy side; a path that is no path counts as not sent. */
export function readOnly(upstream: Upstream): ReadOnlyUpstream {
  return {
    async read({ name, path, query, token, timeout_ms }) {
      try {
        return await upstream.send({ name, method: 'GET', path, query, token, timeout_ms });
      } catch (error) {
        if (error instanceof PuenteError && error.code === 'bad_request')
          return { kind: 'not_sent', cause: error.message };
        throw error;
      }
    },
  };
}
