/** The frame of every HTML file that Puente hands out: one page, no script, nothing to load. */
import type { Language } from '../../locales/words.ts';
import type { Verdict } from '../../proxy/records/evidence.ts';
import { STYLE } from './style.ts';
import { escaped, type Html, type Marked, raw } from './tags.ts';

/** @param body HTML of sections. */
export function htmlPage(language: Language, title: string, body: readonly string[]): string {
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body.filter((part) => part !== '').join('\n')}
</body>
</html>
`;
}

/** A heading, a sentence and its content; what is empty says so. */
export function htmlSection(title: string, content: Html, lead: string, none: string): string {
  // A table that is wider than the screen is moved by itself, also by the keyboard.
  const frame = `<div class="frame" role="region" tabindex="0" aria-label="${escaped(title)}">${content}</div>`;
  const shown = content === '' ? `<p class="none">${escaped(none)}</p>` : frame;
  return `<section><h2>${escaped(title)}</h2><p>${escaped(lead)}</p>${shown}</section>`;
}

/** What was found, with the command that shows or mends it. */
export interface ShownFinding {
  what: Marked;
  command: string | null;
}

/** A verdict with its findings, in lists by their names. */
export function htmlVerdict(
  verdict: Verdict,
  sentence: string,
  lists: readonly (readonly [name: string, findings: readonly ShownFinding[]])[],
): Html {
  const shown = lists
    .filter(([, findings]) => findings.length > 0)
    .map(([name, findings]) => `<h3>${escaped(name)}</h3><ul>${findings.map(htmlFinding).join('')}</ul>`);
  return raw(`<p class="verdict ${verdict}">${escaped(sentence)}</p>${shown.join('')}`);
}

function htmlFinding({ what, command }: ShownFinding): string {
  return `<li>${what.html}${command === null ? '' : ` <code>${escaped(command)}</code>`}</li>`;
}
