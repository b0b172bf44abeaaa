/** Which numbered limitations a call on the orders lane has met: the conditions of `limitations.yaml`, evaluated. Pure. */
import { legacyError } from '../../contract/legacy-errors.ts';
import type { AskedName, LimitationCondition } from '../../mapping/limitations.ts';
import type { Operation, Tables } from '../../mapping/tables.ts';
import type { UpstreamCall } from '../upstream/upstream.ts';
import type { Exchange, UpstreamNote } from './exchange.ts';

/** What is looked at; `limitations` are the marks of the code. */
export type Judged = Pick<Exchange, 'lane' | 'operation' | 'status' | 'error' | 'upstream' | 'fired' | 'losses'> &
  Pick<Exchange, 'limitations'>;

/** Numbers of those that the call met, in the order of the file; a call on the legacy lane met none. */
export function limitationsMet(tables: Pick<Tables, 'operations' | 'limitations'>, call: Judged): string[] {
  if (call.lane !== 'orders') return [];
  const operation = tables.operations.find(({ name }) => name === call.operation);
  if (operation === undefined) return [];
  return tables.limitations
    .filter(({ id, operations, counted }) => {
      if (!Array.isArray(counted) || !operations.includes(operation.name)) return false;
      return counted.some((condition) => holds(condition, call, operation, call.limitations.includes(id)));
    })
    .map(({ id }) => id);
}

/** @param is_marked the code has marked the call with this limitation. */
function holds(condition: LimitationCondition, call: Judged, operation: Operation, is_marked: boolean): boolean {
  const { ok, errors, rows, without, losses, upstream, unasked, noted } = condition;
  return (
    (noted === undefined || is_marked) &&
    (ok === undefined || ok === isOf('2xx', call.status)) &&
    (errors === undefined || errors.some((name) => wasTold(call, operation, name))) &&
    (rows === undefined || rows.some((row) => call.fired.includes(row))) &&
    (without === undefined || !without.some((row) => call.fired.includes(row))) &&
    (losses === undefined || call.losses.some(({ path }) => losses.includes(path.replaceAll(/\[\d+\]/g, '[]')))) &&
    (upstream === undefined || upstream.every((wanted) => call.upstream.some((note) => wasAnswered(note, wanted)))) &&
    (unasked === undefined || !call.upstream.some(({ name }) => isOneOf(unasked, name)))
  );
}

/** Status and code are those of the catalogue's entry. */
function wasTold({ status, error }: Judged, { family }: Operation, name: string): boolean {
  const entry = legacyError(family, name);
  return entry !== null && entry.status === status && entry.error === error;
}

type Wanted = NonNullable<LimitationCondition['upstream']>[number];

function wasAnswered(note: UpstreamNote, { name, status, codes }: Wanted): boolean {
  if (note.name !== name) return false;
  if (status !== undefined && !isOf(status, note.status)) return false;
  return codes === undefined || (note.code !== null && codes.includes(note.code));
}

/** Every name that a table asks about is one of a call that is made. */
function isOneOf(names: readonly (AskedName & UpstreamCall['name'])[], name: string): boolean {
  return names.some((one) => one === name);
}

function isOf(status_class: '2xx' | '4xx', status: number | null): boolean {
  return status !== null && Math.floor(status / 100) === Number(status_class[0]);
}
