/** Texts recognised by their form, with the same result as a regular expression, whatever they contain. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { olderText } from '../../src/locales/older-texts.ts';
import { placesIn } from '../../src/locales/texts.ts';
import { loadWords } from '../../src/locales/words.ts';

function byExpression(form: readonly string[], text: string): string[] | null {
  const parts = form.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('(.+?)')}$`, 's').exec(text)?.slice(1) ?? null;
}

describe('a form', () => {
  it('finds what a regular expression finds', () => {
    const few = fc.string({ unit: fc.constantFrom('a', 'b', '.', '\n'), maxLength: 4 });
    const many = fc.string({ unit: fc.constantFrom('a', 'b', '.', '\n'), maxLength: 14 });
    const forms = fc.array(few, { maxLength: 4 });
    const agrees = (form: readonly string[], text: string): void => {
      expect(placesIn(form, text)).toEqual(byExpression(form, text));
    };
    agrees([], 'a');
    fc.assert(fc.property(forms, many, agrees));
    const filled = fc.array(fc.tuple(few, few), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(filled, (pieces) => {
        const form = [...pieces.map(([part]) => part), 'b'];
        agrees(form, `${pieces.flat().join('')}b`);
      }),
    );
  });

  it('has done with a text that was made to be nearly one of ours: a regular expression takes hours', () => {
    const nearly = [' of ', ' calls in ', ' min took ', ' ms or longer; '].map((part) => part.repeat(2_000)).join('');
    expect(olderText(nearly).said).toBeNull();
    const also = `orders take ${[' items; the last ', ' of '].map((part) => part.repeat(50_000)).join('')}`;
    expect(loadWords().es.written(also)).toBeNull();
  });
});
