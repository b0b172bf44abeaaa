/** The fenced blocks of a page: commands to type and outputs to compare. */

/** `sh` is run; `console` has prompts and is for machines that tests do not have; `text` is a command's output. */
export interface Block {
  page: string;
  /** Number of its first line, from 1. */
  line: number;
  language: string;
  text: string;
}

/** @returns the blocks of a page in their order; a block in a list loses its indentation. */
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

/** The commands of a block with prompts: `$` for any user, `#` for root. Lines without a prompt are output. */
export function promptedCommands({ text }: Block): string[] {
  return text.split('\n').flatMap((line) => (/^[$#] /.test(line) ? [line.slice(2)] : []));
}

/** The exit code in the comment of a block's last line; 0 without one. */
export function promisedCode(text: string): number {
  return Number(/#.*\bexit code (\d+)\b[^\n]*$/.exec(text.trimEnd())?.[1] ?? 0);
}

/**
 * Compares an output with an excerpt: its lines must occur in this order; `…` stands for anything.
 * @returns the first missing line, or null.
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
