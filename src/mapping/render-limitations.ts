/** The generated page `docs/limitations.md`: where a till sees something else than the legacy API showed it, one heading each. */
import type { LoadedTables } from './assemble.ts';
import { countedText } from './limitation-text.ts';
import type { WrittenLimitation } from './limitations.ts';

/** @returns markdown; the same tables give the same text. */
export function renderLimitations({ documents }: LoadedTables): string {
  const calls = new Map(documents.operations.map(({ name, method, path }) => [name, `\`${method} ${path}\``]));
  return [
    '<!-- Generated from mappings/limitations.yaml by `npm run generate`; change that, not this. -->',
    '# Limitations',
    'Where a till sees something else through Puente, on the orders lane, than the legacy API showed it. Each has a test that shows exactly that difference; everything else is equal, which `test/journeys/fidelity.test.ts` and `qr-fidelity.test.ts` show. On the legacy lane bodies are carried byte for byte, and what HTTP itself does not carry is told by LIM-58 and LIM-75 to LIM-77.',
    'Reports count the calls that met one: `puente report --format csv --part limitations`. A number is never used again, so some are missing.',
    overview(documents.limitations),
    ...documents.limitations.map((one) => section(one, calls)),
  ]
    .join('\n\n')
    .concat('\n');
}

function overview(limitations: WrittenLimitation[]): string {
  const rows = limitations.map((one) => `| [${one.id}](#${slug(heading(one))}) | ${cell(one.title)} |`);
  return ['| Number | In one line |', '| --- | --- |', ...rows].join('\n');
}

function section(one: WrittenLimitation, calls: ReadonlyMap<string, string>): string {
  return [
    `## ${heading(one)}`,
    [
      `- **What the till sees.** ${one.effect}`,
      `- **Cause.** ${one.cause}`,
      `- **Way out.** ${one.workaround}`,
      `- **Calls.** ${one.operations.map((name) => calls.get(name) ?? name).join(', ')}`,
      `- **Counted.** ${capital(countedText(one.counted))}`,
    ].join('\n'),
  ].join('\n\n');
}

function heading({ id, title }: WrittenLimitation): string {
  return `${id}: ${title}`;
}

/** The anchor that GitHub makes of a heading. */
function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
    .replaceAll(' ', '-');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
