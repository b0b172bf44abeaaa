/** Values by key, of which those in use lately are remembered, however many keys somebody makes up (`reliability.md` F102). */
import { createPassing } from './passing.ts';

export interface Recent<Value> {
  /** Counts as a use. */
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  /** Forgets what was not used since the last turn, as if the young half were full. */
  turn(): void;
}

/**
 * In two halves: a full young half becomes the old one, and what nobody used in the old half goes with it. One map whose
 * oldest key is deleted for each new one costs fifty times as much, because the engine looks past all deleted keys.
 * @param capacity keys remembered at most; the half that was used last is always among them.
 */
export function createRecent<Value>(capacity: number): Recent<Value> {
  let young = createPassing<Value>();
  let old = createPassing<Value>();
  const turn = (): void => {
    old = young;
    young = createPassing();
  };
  const set = (key: string, value: Value): void => {
    if (young.size >= capacity / 2 && !young.has(key)) turn();
    young.set(key, value);
    old.delete(key);
  };
  return {
    get(key) {
      const known = young.get(key);
      if (known !== undefined) return known;
      const value = old.get(key);
      if (value !== undefined) set(key, value);
      return value;
    },
    set,
    delete(key) {
      young.delete(key);
      old.delete(key);
    },
    turn,
  };
}
