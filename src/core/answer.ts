/** What a story gives back to the legacy door: an answer in the legacy shape, or the wish to be carried. */
import { type PointErrorName, pointErrors } from '../contract/legacy-point.ts';
import { PuenteError } from '../error.ts';

export type LegacyAnswer =
  | { kind: 'answer'; status: number; body: unknown; headers?: Record<string, string> }
  /** Not Puente's: the bytes go to the legacy upstream untouched. */
  | { kind: 'carry' };

export type Answered = Extract<LegacyAnswer, { kind: 'answer' }>;

export function answered(status: number, body: unknown, headers?: Record<string, string>): Answered {
  return headers === undefined ? { kind: 'answer', status, body } : { kind: 'answer', status, body, headers };
}

/**
 * A legacy error of the catalogue; `{}` in its text is filled with `detail`.
 * The body has `error`, `message` and numeric `status`, and never an `id` (`legacy-point.md` §1.9).
 */
export function refused(
  name: PointErrorName,
  detail: string | null = null,
  headers?: Record<string, string>,
): Answered {
  const entry = pointErrors[name];
  const message = entry.message.replace('{}', detail ?? '').trim();
  return answered(entry.status, { error: entry.error, message, status: entry.status }, headers);
}

/** The legacy answer for an error a story threw; null when it is no refusal. */
export function refusalOf(error: unknown): Answered | null {
  if (!(error instanceof PuenteError) || error.code !== 'refused') return null;
  const { error: name, detail } = error.facts;
  if (typeof name !== 'string' || !(name in pointErrors)) return null;
  return refused(name as PointErrorName, typeof detail === 'string' ? detail : null); // membership was just checked
}
