/** Generated inputs as somebody else has seen them: `PROPERTY_SEED` repeats a whole run; without it each property draws and prints its own. */

const seed = process.env.PROPERTY_SEED;
if (seed !== undefined && seed !== '') {
  const { default: fc } = await import('fast-check');
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
}

export {};
