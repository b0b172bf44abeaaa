/** The reports of the journey, read from the ops API and written to the output directory. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Journey } from './journey.ts';
import type { Office } from './office.ts';

/** @param query without the period: merchant, format, part. @returns the written text. */
export async function writeReport(journey: Journey, file: string, query: string): Promise<string> {
  const { office, stand, began_at, output, transcript } = journey;
  const period = { since: new Date(began_at).toISOString(), until: new Date(stand.now() + 1).toISOString() };
  const found = await office.look(`/api/report?${new URLSearchParams(period)}&${query}`);
  const text = typeof found === 'string' ? found : `${JSON.stringify(found, null, 2)}\n`;
  writeFileSync(join(output, file), text);
  transcript.tell('found', `${file} is written, ${text.length} characters`);
  return text;
}

/** Every exchange of a period, from a report's CSV. @param since epoch ms. */
export async function exchangesBetween(
  office: Office,
  since: number,
  until: number,
): Promise<Record<string, string>[]> {
  const period = { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
  const csv = await office.look(`/api/report?${new URLSearchParams({ ...period, format: 'csv', part: 'exchanges' })}`);
  return rowsOf(String(csv));
}

/** RFC 4180 as far as Puente writes it: texts are quoted, and none here has a line break. */
export function rowsOf(csv: string): Record<string, string>[] {
  const [head = [], ...lines] = csv.trim().split('\r\n').map(cellsOf);
  return lines.map((cells) => Object.fromEntries(head.map((name, nth) => [name, cells[nth] ?? ''])));
}

function cellsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, bare]) =>
    quoted === undefined ? (bare ?? '') : quoted.replaceAll('""', '"'),
  );
}
