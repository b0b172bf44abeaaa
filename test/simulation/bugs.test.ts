/** The list of seeded bugs is whole, and each still fits the sources; `npm run prove` shows that each is caught. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bugs, patched } from './bugs/list.ts';

const SOURCES = join(import.meta.dirname, '..', '..', 'src');

describe('the seeded bugs', () => {
  it('are the 27 of the list', () => {
    expect(bugs).toHaveLength(27);
  });

  it.each(bugs)('$name still fits the sources', ({ edits }) => {
    for (const [file, mine] of Map.groupBy(edits, (edit) => edit.file))
      expect(patched(readFileSync(join(SOURCES, file), 'utf8'), mine)).not.toBe('');
  });
});
