/** A value that refuses to be printed: without a string form or a property; JSON, templates, sums and copies show a placeholder or nothing. */
import { inspect } from 'node:util';

export class Secret {
  readonly #value: string;
  #known: { by: object; text: string } | null = null;

  constructor(value: string) {
    this.#value = value;
    Object.freeze(this);
  }

  /** The clear value; call it only where bytes leave the process or are sealed. */
  reveal(): string {
    return this.#value;
  }

  /**
   * What `make` says of the clear value, worked out once for whoever asks last. Here, because a WeakMap of secrets outlives
   * young collections with all of them.
   */
  once(by: object, make: (value: string) => string): string {
    if (this.#known?.by !== by) this.#known = { by, text: make(this.#value) };
    return this.#known.text;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  /** In a sum or a comparison too. */
  [Symbol.toPrimitive](): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
