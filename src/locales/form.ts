/** A text with places for what differs from case to case, recognised again in time that grows with the text alone, whatever is in it. */

/** What stands around the places: one more than there are places. */
export type Form = readonly string[];

/**
 * What stands in each place, as little as there can be, and never nothing; null for a text of another form. A regular
 * expression finds the same, but a text that is made for it takes it minutes.
 */
export function placesIn([beginning = '', ...rest]: Form, text: string): string[] | null {
  const end = rest.pop();
  if (end === undefined) return text === beginning ? [] : null;
  if (!text.startsWith(beginning) || !text.endsWith(end)) return null;
  const places: string[] = [];
  let from = beginning.length;
  for (const part of rest) {
    const at = text.indexOf(part, from + 1);
    if (at === -1) return null;
    places.push(text.slice(from, at));
    from = at + part.length;
  }
  const last = text.slice(from, text.length - end.length);
  return last === '' ? null : [...places, last];
}

/** How much of it is written out: of two forms the one with more is told first, because one may be the beginning of the other. */
export function lengthOf(form: Form): number {
  return form.reduce((sum, part) => sum + part.length, 0);
}
