/** Seeded randomness, so that a capture can be repeated. */

export interface Chance {
  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number;
  /** True with this probability, 0 to 1. */
  is(probability: number): boolean;
  pick<Choice>(choices: readonly [Choice, ...Choice[]]): Choice;
}

/** The minimal standard generator of Park and Miller: enough to vary sales. */
export function seeded(seed: number): Chance {
  let state = (seed % 2_147_483_646) + 1;
  const next = (): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  return {
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    is: (probability) => next() < probability,
    pick: (choices) => choices[Math.floor(next() * choices.length)] ?? choices[0],
  };
}
