/** Converters of the errors table: what fills the `{}` of a legacy message, read from the upstream text. */
import { jsonNumber } from '../contract/legacy-amount.ts';
import { minorUnits } from './amount.ts';
import type { UpstreamError } from './errors.ts';
import type { MappingContext } from './tables.ts';

export interface Given {
  /** Upstream property path to the name the client used; null when unknown. */
  rename: (property: string) => string | null;
  context: MappingContext;
}

export interface DetailConverter {
  says: string;
  /** Null when the text doesn't say it. */
  convert: (error: UpstreamError, given: Given) => string | null;
}

/** A detail that is a property path, alone or before an explanation: `config.point.terminal_id: must be …`. */
const LEADING_PATH = /^['"`]?([A-Za-z_][\w-]*(?:\[\d+\])?(?:\.[\w-]+(?:\[\d+\])?)*)['"`]?\s*(?::|$)/;
const QUOTED = /['"`]([\w.[\]-]+)['"`]/;
const WORD = /[A-Za-z_][\w-]*(?:\[\d+\])?(?:\.[\w-]+(?:\[\d+\])?)*/g;
/** The limit stands after these words in every live text (`orders-api.md` §10). */
const LIMIT = /equal to\s+(\d+(?:\.\d+)?)/;

export const detailConverters: Readonly<Record<string, DetailConverter>> = {
  property_name: {
    says: 'the property the upstream text names, as the legacy request calls it',
    convert: (error, { rename }) => {
      const written = namedProperty(error, rename);
      return written === null ? null : (rename(written) ?? written);
    },
  },
  limit: {
    says: 'the limit the upstream text names, as a JSON number would show it',
    convert: (error) => {
      const limit = limitOf(error);
      return limit === undefined ? null : String(jsonNumber(limit));
    },
  },
  limit_minor: {
    says: 'the limit the upstream text names, in minor units',
    convert: (error, { context }) => {
      const exponent = context.exponent;
      const minor = minorUnits(limitOf(error), typeof exponent === 'number' ? exponent : Number.NaN);
      return minor === undefined ? null : String(minor);
    },
  },
};

function limitOf(error: UpstreamError): string | undefined {
  return error.lines.map((line) => LIMIT.exec(line)?.[1]).find((found) => found !== undefined);
}

function namedProperty(error: UpstreamError, rename: Given['rename']): string | null {
  for (const line of error.lines) {
    const leading = LEADING_PATH.exec(line)?.[1];
    if (leading !== undefined) return leading;
    const quoted = QUOTED.exec(line)?.[1];
    if (quoted !== undefined) return quoted;
    const known = (line.match(WORD) ?? []).find((word) => rename(word) !== null);
    if (known !== undefined) return known;
  }
  return null;
}
