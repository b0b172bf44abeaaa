/** Reads one thing on both sides and compares the answers in legacy form; a control read filters out noise. */
import { order } from '../../contract/orders.ts';
import { listTerminalsAnswer } from '../../contract/terminals.ts';
import { upstreamRoutes } from '../../contract/upstream.ts';
import { PuenteError } from '../../error.ts';
import type { ComparedField, Translated } from '../../mapping/tables.ts';
import type { ShadowTask } from '../evidence/exchange.ts';
import type { CoverageCell, DifferenceSeen } from '../records/evidence.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { Secret } from '../vault.ts';
import {
  knownOperation,
  legacyRefusal,
  type ShadowInput,
  type ShadowTools,
  shadowInput,
  shown,
  signatureOf,
} from './shadow.ts';

/** A shadow that may also read. */
export interface DoubleReadTools extends ShadowTools {
  orders: ReadOnlyUpstream;
  legacy: ReadOnlyUpstream;
  settings: { timeout_ms: number };
}

interface DoubleRead {
  differences: DifferenceSeen[];
  /** Fields of the legacy answer, as `answer.devices[].pos_id`. */
  cells: CoverageCell[];
  /** What the tables made of the request; missing without an answer of orders. */
  paper?: Paper;
}

type Paper = Pick<Translated, 'fired' | 'losses'>;

/** Whether both sides can read the operation (`double_read` of `operations.yaml`). */
export function isDoubleRead(tools: Pick<ShadowTools, 'tables'>, task: ShadowTask): boolean {
  return knownOperation(tools.tables, task)?.double_read === true;
}

/**
 * Reads the orders side of a read that legacy has answered, and compares both by the matchers of the tables. Errors are
 * compared by the class of the status and the legacy error for the till. No answer, a 401 and a 429 are no evidence.
 * Before a difference is reported, legacy is read again: what changes in between is noise.
 */
export async function doubleRead(tools: DoubleReadTools, task: ShadowTask): Promise<DoubleRead> {
  const input = shadowInput(tools.tables, task);
  const legacy = { status: task.exchange.status, error: task.exchange.error, body: task.legacy_body };
  const isReadable = legacy.status >= 300 || legacy.body !== null;
  const orders = isReadable && isEvidence(legacy.status) ? await readOrders(tools, input, task) : null;
  if (orders === null) return { differences: [], cells: [] };
  const found = await withoutNoise(tools, task, input, legacy, compare(tools, input, legacy, orders));
  const { name: operation } = input.operation;
  const differences = found.filter(isDifferent).map((field) => differenceOf(tools, operation, field));
  const cells = found.filter(({ what }) => what === 'value').map((field) => cellOf(operation, field));
  return { differences, cells, ...(orders.paper === undefined ? {} : { paper: orders.paper }) };
}

async function withoutNoise(
  tools: DoubleReadTools,
  task: ShadowTask,
  input: ShadowInput,
  legacy: SideAnswer,
  found: Compared[],
): Promise<Compared[]> {
  if (!found.some(isDifferent)) return found;
  const control = await readLegacy(tools, input, task);
  if (control === null) return found.filter((field) => !isDifferent(field));
  const noise = compare(tools, input, legacy, control).filter(isDifferent);
  return found.filter(
    (field) => !isDifferent(field) || !noise.some(({ what, path }) => what === 'error' || path === field.path),
  );
}

/** An answer in legacy form, from either side. */
interface SideAnswer {
  status: number;
  /** The `error` of a legacy error body; null on success. */
  error: string | null;
  body: unknown;
  /** Orders only. */
  paper?: Paper;
}

type Compared =
  | ({ what: 'value' } & ComparedField)
  | { what: 'error'; path: ''; difference: string | null; legacy: string; orders: string };
type Different = Compared & { difference: string };

const isDifferent = (field: Compared): field is Different => field.difference !== null;

function compare(
  { tables }: ShadowTools,
  { operation }: ShadowInput,
  legacy: SideAnswer,
  orders: SideAnswer,
): Compared[] {
  if (legacy.status < 300 && orders.status < 300)
    return tables.compare(operation, legacy.body, orders.body).map((field) => ({ what: 'value', ...field }));
  const [one, other] = [textOf(legacy), textOf(orders)];
  return [
    { what: 'error', path: '', difference: one === other ? null : `${one}, ${other}`, legacy: one, orders: other },
  ];
}

function textOf({ status, error }: SideAnswer): string {
  return `${Math.floor(status / 100)}xx ${error ?? ''}`.trim();
}

/** Null without evidence. */
async function readOrders(tools: DoubleReadTools, input: ShadowInput, task: ShadowTask): Promise<SideAnswer | null> {
  const { tables } = tools;
  const { operation, source, context } = input;
  const name = readNameOf(input);
  let translated: Translated;
  try {
    translated = tables.request(operation, source, context);
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'refused') throw error;
    return legacyRefusal(operation.family, String(error.facts.error), String(error.facts.detail ?? ''));
  }
  const path = filled(upstreamRoutes[name].path, translated.value.path ?? {});
  const outcome = await tools.orders.read(readCall(tools, task, { name, path, query: translated.value.query ?? {} }));
  if (outcome.kind !== 'answered' || !isEvidence(outcome.status)) return null;
  if (outcome.status === 200) {
    const parsed = readers[name].safeParse(outcome.body);
    if (!parsed.success) return null;
    const answer = tables.answer(operation, parsed.data, { ...context, ...source.path });
    const paper = { fired: translated.fired, losses: [...translated.losses, ...answer.losses] };
    return { status: 200, error: null, body: answer.value.body, paper };
  }
  const row = tables.error(operation.family, name, outcome.status, outcome.body, context);
  return legacyRefusal(operation.family, row.error, row.detail);
}

const readers = { terminals_list: listTerminalsAnswer, get: order } as const;

function readNameOf({ operation }: ShadowInput): Exclude<ReadName, 'legacy_read'> {
  if (operation.upstream === 'get' || operation.upstream === 'terminals_list') return operation.upstream;
  throw new PuenteError('bad_tables', `${operation.name} can't be read on the orders side.`); // `check` has proved it
}

async function readLegacy(
  tools: DoubleReadTools,
  { operation, source }: ShadowInput,
  task: ShadowTask,
): Promise<SideAnswer | null> {
  const path = filled(operation.path, source.path);
  const outcome = await tools.legacy.read(readCall(tools, task, { name: 'legacy_read', path, query: source.query }));
  if (outcome.kind !== 'answered' || !isEvidence(outcome.status)) return null;
  const { status, body } = outcome;
  const { error } = (body ?? {}) as { error?: unknown }; // any JSON
  return { status, error: status >= 300 && typeof error === 'string' ? error : null, body };
}

function readCall(tools: DoubleReadTools, task: ShadowTask, call: Pick<ReadCall, 'name' | 'path' | 'query'>): ReadCall {
  return { ...call, token: task.token, timeout_ms: tools.settings.timeout_ms };
}

function filled(path: string, values: Record<string, string>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
}

/** 401 is about the token and 429 about the rate: neither is evidence about the operation. */
function isEvidence(status: number): boolean {
  return status !== 401 && status !== 429;
}

function differenceOf({ redact }: ShadowTools, operation: string, field: Different): DifferenceSeen {
  const { what, path, difference } = field;
  const [legacy, orders] =
    field.what === 'error'
      ? [field.legacy, field.orders]
      : [shown(redact, path, field.legacy), shown(redact, path, field.orders)];
  return { signature: signatureOf({ operation, what, path, kind: difference }), operation, what, path, legacy, orders };
}

/** Tills have chosen names in these answers, so all fields count as unknown. */
function cellOf(operation: string, { path, difference }: Compared): CoverageCell {
  return { operation, field: `answer.${path}`, outcome: difference === null ? 'equal' : 'different', unknown: true };
}

/** The calls of the orders API that read (`docs/field-notes.md` Spec Endpoints), and a read of the legacy API. */
export const readNames = ['get', 'terminals_list', 'legacy_read'] as const;
type ReadName = (typeof readNames)[number];

/** The only request of a shadow. It has no method, no body and no key, so that it can't be a create. */
export interface ReadCall {
  name: ReadName;
  /** Absolute; its ids have been checked against their pattern. */
  path: string;
  query: Record<string, string>;
  token: Secret;
  timeout_ms: number;
}

/** Only `answered` is a complete answer, which can be compared. */
type ReadOutcome = { kind: 'answered'; status: number; body: unknown } | { kind: 'not_sent' | 'broken'; cause: string };

interface ReadOnlyUpstream {
  /** Reads once. Never throws for a network error. */
  read(call: ReadCall): Promise<ReadOutcome>;
}

/** A client that can only send a GET without a body; an invalid path counts as not sent. */
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
