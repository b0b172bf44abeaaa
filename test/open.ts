/** What tests of a file or a block share: opened before them, closed behind them. */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

interface Closable {
  close(): unknown;
}

/** Opens it once for all tests of the block. @returns what stands for it: its members are those of the one that is open. */
export function openForAll<Thing extends Closable>(open: () => Promise<Thing> | Thing): Thing {
  return between(beforeAll, afterAll, open);
}

/** Opens another one for each test. @returns as above. */
export function openForEach<Thing extends Closable>(open: () => Promise<Thing> | Thing): Thing {
  return between(beforeEach, afterEach, open);
}

function between<Thing extends Closable>(
  before: typeof beforeAll | typeof beforeEach,
  after: typeof afterAll | typeof afterEach,
  open: () => Promise<Thing> | Thing,
): Thing {
  let thing: Thing | null = null;
  before(async () => {
    thing = await open();
  });
  after(async () => {
    await thing?.close();
    thing = null;
  });
  const opened = (): Thing => {
    if (thing === null) throw new Error('it is open only while its tests run');
    return thing;
  };
  return new Proxy({} as Thing, {
    get: (_, name) => Reflect.get(opened(), name),
    set: (_, name, value) => Reflect.set(opened(), name, value),
  }); // every member is that of the one that is open
}
