/** A value that refuses to be printed: without a string form or a property; JSON, templates, sums and copies show a placeholder or nothing. */
import { inspect } from 'node:util';

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    Object.freeze(this);
  }

  /** The clear value; call it only where bytes leave the process or are sealed. */
  reveal(): string {
    return this.#value;
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
