/** What a story gives back to the legacy door: an answer in the legacy shape, or where the call is to go instead. */
import { errorBody, type Family, type LegacyErrorName, legacyError } from '../../contract/legacy-errors.ts';
import { PuenteError } from '../../error.ts';

export type LegacyAnswer =
  /** A body that is undefined is sent as no body at all: v2 tills take nothing else on their 204 (`docs/field-notes.md` QR finding 2). */
  | {
      kind: 'answer';
      status: number;
      body: unknown;
      headers?: Record<string, string>;
      /** Runs when the call is over. @param whole the answer has left; false when the client did not wait for it. */
      over?: (whole: boolean) => Promise<void>;
    }
  /** Not Puente's: the bytes go to the legacy upstream untouched. */
  | { kind: 'carry' }
  /** Its merchant was set since its lane was chosen, and nothing of the call is under way: lane and story begin anew. */
  | { kind: 'moved' };

export type Answered = Extract<LegacyAnswer, { kind: 'answer' }>;

export function answered(status: number, body: unknown, headers?: Record<string, string>): Answered {
  return headers === undefined ? { kind: 'answer', status, body } : { kind: 'answer', status, body, headers };
}

/**
 * A legacy error of the family's catalogue in the family's envelope; `{}` in its text is filled with `detail`.
 * A name that the family has no words for is told as its `internal`.
 */
export function refused(
  family: Family,
  name: LegacyErrorName,
  detail: string | null = null,
  headers?: Record<string, string>,
): Answered {
  const entry = legacyError(family, name) ?? legacyError(family, 'internal');
  if (entry === null) throw new PuenteError('bad_tables', `the catalogue of ${family} has no internal error`);
  return answered(entry.status, errorBody(family, entry, detail ?? ''), headers);
}

/** The legacy answer for an error a story threw; null when it is no refusal. */
export function refusalOf(family: Family, error: unknown): Answered | null {
  if (!(error instanceof PuenteError) || error.code !== 'refused') return null;
  const { error: name, detail } = error.facts;
  if (typeof name !== 'string' || legacyError(family, name) === null) return null;
  return refused(family, name as LegacyErrorName, typeof detail === 'string' ? detail : null); // membership was just checked
}
