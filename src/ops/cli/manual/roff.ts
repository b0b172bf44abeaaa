/** The language of `man`: text, terms with what they mean, and blocks that keep their lines. */

/** A character that means something to `man`, or that only some of its readers know, gets its name. */
export function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replace(
      /[^\x20-\x7e\n]/gu,
      (one) => `\\[u${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}

/** Text that flows: each sentence on a line of its own, as `man` likes it. */
export function roffText(text: string): string[] {
  const flowing = text.replace(/\s+/g, ' ').trim();
  return flowing === '' ? [] : flowing.split(/(?<=[.;:]) (?=[A-Z])/).map((line) => guarded(escaped(line)));
}

/** A word in bold (B) or as a variable (I), with what it means on the lines after it. */
export function term(word: string, font: 'B' | 'I'): string[] {
  return ['.TP', `.${font} ${escaped(word)}`];
}

/** Lines that stay as they are. */
export function block(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['.PP', '.nf', '.RS', ...lines.map((line) => guarded(escaped(line))), '.RE', '.fi'];
}

/** A dot or a quote at the beginning of a line would be a request. */
function guarded(line: string): string {
  return /^[.']/.test(line) ? `\\&${line}` : line;
}
