/** What Puente says as a code with facts, beside the English sentence: whoever shows it can say it in another language. */

/** A sentence inside a sentence is one, too; instants are RFC 3339, under names that end in `_at`. */
export type Fact = string | number | boolean | null | readonly string[] | Sentence;

export interface Said {
  /** Of the closed list `sentences` in `core/sentences.ts`. */
  code: string;
  facts: Readonly<Record<string, Fact>>;
}

/** What a sentence is made of, its code among it. */
export type Spoken = Sentence & { said: Said };

export interface Sentence {
  /** In English. */
  text: string;
  /** Null for a text that no code is known for: a person's own words, a table's, or an older build's. */
  said: Said | null;
}
