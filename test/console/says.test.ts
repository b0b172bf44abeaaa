/** What the API says, in the page's language: facts of tills are shown whatever they hold. */
import { describe, expect, it } from 'vitest';
import { html, textOf } from '../../src/console/html.ts';
import { says } from '../../src/console/says.ts';
import { loadWords } from '../../src/console/words.ts';
import { heard, quoted } from '../../src/core/sentences.ts';
import type { Fact } from '../../src/said.ts';

const words = loadWords();

describe.each(['es', 'pt'] as const)('what the API says, in %s', (language) => {
  const told = (code: string, facts: Record<string, Fact>): Promise<string> =>
    textOf(html`${says(words[language], 'in English', { code, facts })}`);

  it('shows each fact once and whole, also one that holds the mark of a sentence within', async () => {
    const text = await told('bulk.stopped', { merchant: '7\u00000\u0000 till', why: quoted('tills stand still') });
    expect(text).toContain('7\ufffd0\ufffd till');
    expect(text.split('<span lang="en">tills stand still</span>')).toHaveLength(2);
  });

  it('puts a sentence within in its place', async () => {
    const text = await told('settled.given_up', { why: heard('The receiver answered 503.') });
    expect(text).toContain('503');
    expect(text).not.toContain('\ufffd');
    expect(text).not.toContain('\u0000');
  });
});
