/** Which JSON values the parsers of the official SDKs accept for a type, from the parsers' documentation. */

export type Sdk = 'node' | 'php' | 'java' | 'dotnet' | 'go';
export type Type = 'integer' | 'integer32' | 'decimal' | 'text' | 'boolean' | 'time' | 'object' | 'list' | 'any';

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const MAX: Readonly<Record<string, bigint>> = { integer: 2n ** 63n - 1n, integer32: 2n ** 31n - 1n };

/** True when the SDK's parser accepts the value; all accept null and missing values. */
export function takes(sdk: Sdk, type: Type, value: unknown): boolean {
  if (value === null || value === undefined || type === 'any') return true;
  switch (type) {
    case 'integer':
    case 'integer32':
      return isInteger(sdk, value) && BigInt(value as number | string) <= (MAX[type] ?? 0n);
    case 'decimal':
      return typeof value === 'number' || (isLenient(sdk) && isNumeric(value));
    case 'text':
      // PHP coerces scalars, Gson and Json.NET read them as text; encoding/json refuses.
      return typeof value === 'string' || (isLenient(sdk) && ['number', 'boolean'].includes(typeof value));
    case 'boolean':
      return typeof value === 'boolean';
    case 'time':
      return typeof value === 'string' && RFC3339.test(value);
    case 'list':
      return Array.isArray(value);
    case 'object':
      // PHP decodes lists and objects alike.
      return typeof value === 'object' && (sdk === 'php' || !Array.isArray(value));
  }
}

/** Digits in a text are an integer for the lenient parsers; encoding/json refuses, and Node's does not check. */
function isInteger(sdk: Sdk, value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return isLenient(sdk) && typeof value === 'string' && /^-?\d+$/.test(value);
}

function isNumeric(value: unknown): boolean {
  return typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value);
}

/** Node does not check types, but a TypeScript till relies on them. */
function isLenient(sdk: Sdk): boolean {
  return sdk === 'php' || sdk === 'java' || sdk === 'dotnet';
}
