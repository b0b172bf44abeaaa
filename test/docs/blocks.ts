/** The fenced blocks of a page: what a reader copies, types and is shown. */

/** `sh` is run as it stands; `console` shows a prompt, and is for machines that a test has not; `text` is what a command says. */
export interface Block {
  page: string;
  /** Where its first line stands, counted from 1. */
  line: number;
  language: string;
  text: string;
}

/** @returns the blocks of a page in their order; one in a list is moved to the left. */
export function blocksOf(page: string, markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: { indent: string; language: string; line: number; lines: string[] } | null = null;
  for (const [index, text] of markdown.split('\n').entries()) {
    const fence = /^( *)```(\w*)$/.exec(text);
    if (fence === null) open?.lines.push(text.startsWith(open.indent) ? text.slice(open.indent.length) : text);
    else if (open === null) open = { indent: fence[1] ?? '', language: fence[2] ?? '', line: index + 2, lines: [] };
    else {
      blocks.push({ page, line: open.line, language: open.language, text: open.lines.join('\n') });
      open = null;
    }
  }
  return blocks;
}

/** The commands of a block with prompts: `$` is anybody, `#` is root. What has no prompt is what they say. */
export function promptedCommands({ text }: Block): string[] {
  return text.split('\n').flatMap((line) => (/^[$#] /.test(line) ? [line.slice(2)] : []));
}

/** The exit code that the last line of a block promises in its remark; 0 without one. */
export function promisedCode(text: string): number {
  return Number(/#.*\bexit code (\d+)\b[^\n]*$/.exec(text.trimEnd())?.[1] ?? 0);
}

/**
 * What is missing in an output: each line of the excerpt must be there, in this order; `…` stands for anything.
 * @returns the first line that is not there, or null.
 */
export function missingLine(excerpt: string, output: string): string | null {
  let rest = output.split('\n');
  for (const line of excerpt.split('\n').filter((one) => one.trim() !== '' && one.trim() !== '…')) {
    const pattern = new RegExp(`^${line.trimEnd().split('…').map(literal).join('.*')}\\s*$`);
    const at = rest.findIndex((one) => pattern.test(one));
    if (at === -1) return line;
    rest = rest.slice(at + 1);
  }
  return null;
}

function literal(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
