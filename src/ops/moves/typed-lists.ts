/** Lists of merchants and steps as people write them, for commands and pages. */
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';

/**
 * The items of a list: a line is of one or several merchants, with a target of their own or none, such as
 * `700100300, 700100400 canary 5`; `#` begins a comment.
 * @throws PuenteError bad_request with the number of the line that can't be read.
 */
export function bulkItems(list: string): Record<string, unknown>[] {
  return list.split('\n').flatMap((line, index) => {
    const text = line.replace(/#.*/, '').trim();
    if (text === '') return [];
    const words = text.split(/[\s,;]+/);
    const target = words.findIndex((word) => !/^\d+$/.test(word));
    const ids = target === -1 ? words : words.slice(0, target);
    const [stage, share, ...more] = words.slice(ids.length);
    const is_read = /^(?!\d)./.test(stage ?? 'none') && /^\d{1,3}(\.\d{1,2})?$/.test(share ?? '0');
    if (ids.length === 0 || !is_read || more.length > 0)
      throw new PuenteError('bad_request', say('refusal.bulk_line', { line: index + 1 }));
    const own = { ...(stage && { stage }), ...(share && { share: Number(share) }) };
    return ids.map((merchant_id) => ({ merchant_id, ...own }));
  });
}

/**
 * Steps as people write them: `5,25,100` or `5, 25, 100`. Beside spaces or semicolons a comma before one digit is that of a
 * decimal, as in `2,5, 25`. @throws PuenteError bad_request for other texts.
 */
export function stepsIn(text: string): number[] {
  const parts = /[;\s]/.test(text.trim()) ? text.trim().split(/\s*;\s*|\s*,\s+|\s+,\s*|\s+/) : text.trim().split(',');
  if (!parts.every((part) => /^\d{1,3}(,\d|\.\d{1,2})?%?$/.test(part)))
    throw new PuenteError('bad_request', say('input.steps', {}));
  return parts.map((part) => Number(part.replace('%', '').replace(',', '.')));
}
