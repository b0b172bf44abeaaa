/** `npm run audit`: known advisories; a query that fails never counts as clean (`test/faults/README.md` F137). */
import { execFile } from 'node:child_process';
import { z } from 'zod';

/** Advisories that cannot affect Puente, with the reason; others fail. Remove each with the update that fixes it. */
const EXPLAINED: Readonly<Record<string, string>> = {};

/** Output of `npm audit --json` after an answer of the registry. */
const answered = z.looseObject({
  auditReportVersion: z.literal(2),
  vulnerabilities: z.record(
    z.string(),
    z.looseObject({
      severity: z.string(),
      via: z.array(z.union([z.string(), z.looseObject({ url: z.string(), title: z.string() })])),
    }),
  ),
});
/** Its output without one. */
const failed = z.looseObject({ message: z.string() });

export interface Audit {
  verdict: 'clean' | 'found' | 'not run';
  lines: string[];
}

/** Exit codes of the command; only `clean` is 0. */
export const auditExit = { clean: 0, found: 1, 'not run': 2 } as const satisfies Record<Audit['verdict'], number>;

/** @param output of `npm audit --json`. @param explained advisories by URL, with the reason. */
export function judgeAudit(output: string, explained: Readonly<Record<string, string>> = EXPLAINED): Audit {
  const value = jsonOf(output);
  const report = answered.safeParse(value);
  if (!report.success) return notRun(value);
  const named = Object.entries(report.data.vulnerabilities).flatMap(([name, { severity, via }]) =>
    via.flatMap((one) => (typeof one === 'string' ? [] : [{ name, severity, url: one.url, title: one.title }])),
  );
  const open = named.filter(({ url }) => explained[url] === undefined);
  const lines = named.map(({ name, severity, url, title }) => {
    const why = explained[url];
    return `${name} (${severity}): ${title}, ${url}${why === undefined ? '' : `; explained: ${why}`}`;
  });
  if (open.length > 0) return { verdict: 'found', lines };
  return { verdict: 'clean', lines: [...lines, `No advisory is open; ${named.length} are explained.`] };
}

function notRun(value: unknown): Audit {
  const told = failed.safeParse(value);
  const why = told.success ? told.data.message : 'its answer could not be read';
  return { verdict: 'not run', lines: [`NOT RUN: the registry did not say (${why}). Nothing is known; run it again.`] };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

if (import.meta.main) {
  // npm exits with 1 both for advisories and for a silent registry, so its output decides.
  execFile('npm', ['audit', '--json'], { maxBuffer: 64 * 1024 * 1024 }, (_error, output) => {
    const { verdict, lines } = judgeAudit(output);
    process.stdout.write(`${lines.join('\n')}\n`);
    process.exitCode = auditExit[verdict];
  });
}
