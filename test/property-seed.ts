/** Repeats generated inputs: `PROPERTY_SEED` sets one seed for a whole run; without it each property prints its own. */

const seed = process.env.PROPERTY_SEED;
if (seed !== undefined && seed !== '') {
  const { default: fc } = await import('fast-check');
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
}

export {};
