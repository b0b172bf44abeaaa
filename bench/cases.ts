/** What is measured, as data: each case is one legacy request, made anew for every number, and what its answer must hold. */

export interface BenchRequest {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  headers: Record<string, string>;
  body: string;
}

export interface BenchCase {
  name: string;
  /** One sentence for the report. */
  what: string;
  /** Request number `n`; numbers are never used twice in one run. */
  request(n: number): BenchRequest;
  /** True when the answer to request `n` is a right one, from whoever answered it. */
  holds(answer: unknown, n: number): boolean;
}

/** Invented; the upstream of the benchmark accepts every token and reads the user from its end. */
const TOKEN = 'APP_USR-4004001-112026-00000000000000000000000000000a01-700100200';

export const benchCases: readonly BenchCase[] = [
  {
    name: 'create',
    what: 'POST …/payment-intents as Odoo sends it, each on a terminal of its own, so that no terminal is ever busy',
    request: (n) => ({
      method: 'POST',
      path: `/point/integration-api/devices/TERM_${n}/payment-intents`,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept: '*/*' },
      body: JSON.stringify({
        amount: 1500 + (n % 100_000),
        additional_info: { external_reference: referenceOf(n), print_on_terminal: true },
      }),
    }),
    // The legacy answer echoes the reference where the till put it, the order on top.
    holds: (answer, n) =>
      isObject(answer) &&
      typeof answer.id === 'string' &&
      answer.id !== '' &&
      (answer.external_reference === referenceOf(n) ||
        (isObject(answer.additional_info) && answer.additional_info.external_reference === referenceOf(n))),
  },
];

/** @throws Error for a name that is no case. */
export function caseOf(name: string): BenchCase {
  const found = benchCases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no case ${name}; there is ${benchCases.map((one) => one.name)}.`);
  return found;
}

function referenceOf(n: number): string {
  return `12_4_sale${n}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
