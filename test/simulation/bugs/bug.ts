/** A seeded bug: a few edits of the product's sources, applied in memory when a test process loads them. */

export interface Edit {
  /** Below `src/`. */
  file: string;
  /** Occurs exactly once. */
  from: string;
  to: string;
}

export interface Bug {
  name: string;
  edits: Edit[];
  /** A test file and part of the names of the tests that must fail; null when the simulation catches the bug. */
  test: { file: string; name: string } | null;
}

/** A bug as it is written: one edit of one file, or two. */
export interface BugRow extends Edit {
  name: string;
  test?: Bug['test'];
  and?: Omit<Edit, 'file'>;
}

export function environmentOf(bug: Bug): { PUENTE_SEEDED_BUG: string } {
  return { PUENTE_SEEDED_BUG: JSON.stringify(bug) };
}

/** @throws SyntaxError in a process without a bug. */
export function bugOfProcess(): Bug {
  return JSON.parse(process.env.PUENTE_SEEDED_BUG ?? '') as Bug; // written by `environmentOf`
}

/** @throws Error when two bugs have one name. */
export function readBugs(rows: readonly BugRow[]): readonly Bug[] {
  if (new Set(rows.map(({ name }) => name)).size < rows.length) throw new Error('two seeded bugs have one name');
  return rows.map(({ name, test = null, file, from, to, and }) => {
    const edits = [{ from, to }, ...(and === undefined ? [] : [and])];
    return { name, test, edits: edits.map((edit) => ({ file, ...edit })) };
  });
}

/** @throws Error when the text of an edit does not occur exactly once: then the bug must be rewritten. */
export function patched(source: string, edits: readonly Edit[]): string {
  let text = source;
  for (const { file, from, to } of edits) {
    if (text.split(from).length !== 2) throw new Error(`${file}: this must stand there exactly once: ${from}`);
    text = text.replace(from, () => to);
  }
  return text;
}
