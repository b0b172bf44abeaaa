/** Resources of tests: shared ones are opened before the tests of a file or block and closed after them. */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

interface Closable {
  close(): unknown;
}

/** Closes a resource where its scope ends, as in `await using bench = closing(await startBench())`. */
export function closing<Thing extends Closable>(thing: Thing): Thing & Disposable & AsyncDisposable {
  return Object.assign(thing, {
    [Symbol.dispose]: () => void thing.close(),
    [Symbol.asyncDispose]: async () => void (await thing.close()),
  });
}

/** Opens a resource once for all tests of the block. @returns a proxy of the open resource. */
export function openForAll<Thing extends Closable>(open: () => Promise<Thing> | Thing): Thing {
  return between(beforeAll, afterAll, open);
}

/** Opens a new resource for each test. @returns as above. */
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
  }); // a proxy of the open resource
}
