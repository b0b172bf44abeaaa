/** The frame of every HTML file that Puente hands out: one page, no script, nothing to load. */
import type { Finding, Verdict } from '../evidence/verdict.ts';
import { STYLE } from './style.ts';
import { escaped, type Html, raw } from './tags.ts';

/** @param body HTML of sections. */
export function htmlPage(title: string, body: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
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
export function htmlSection(title: string, content: Html, lead: string, none = 'None in this period.'): string {
  const shown = content === '' ? `<p class="none">${escaped(none)}</p>` : content;
  return `<section><h2>${escaped(title)}</h2><p>${escaped(lead)}</p>${shown}</section>`;
}

const VERDICTS: Readonly<Record<Verdict, string>> = {
  ready: 'Ready: nothing stands in the way of the next move.',
  blocked: 'Blocked: no move forward before this is solved.',
  inconclusive: 'Inconclusive: too little was seen. Nothing is green by default.',
};

/** A verdict with its findings, and for each the command that shows or mends it. */
export function htmlVerdict(readiness: {
  verdict: Verdict;
  blockers: readonly Finding[];
  unproven: readonly Finding[];
  remarks: readonly Finding[];
}): Html {
  const list = (name: string, findings: readonly Finding[]): string =>
    findings.length === 0 ? '' : `<h3>${name}</h3><ul>${findings.map(htmlFinding).join('')}</ul>`;
  return raw(
    `<p class="verdict ${readiness.verdict}">${VERDICTS[readiness.verdict]}</p>` +
      list('In the way', readiness.blockers) +
      list('Not proven', readiness.unproven) +
      list('Worth knowing', readiness.remarks),
  );
}

function htmlFinding({ what, command }: Finding): string {
  return `<li>${escaped(what)}${command === null ? '' : ` <code>${escaped(command)}</code>`}</li>`;
}
