/** The generated page `mappings/README.md`: every operation, row, state and error of the tables, with its reason. */

import { type Family, legacyError } from '../contract/legacy-errors.ts';
import { contextSchema } from './context.ts';
import { converters } from './converters.ts';
import { sourceText, targetText } from './describe.ts';
import { detailConverters } from './errors.ts';
import type { Counted, LimitationCondition, WrittenLimitation } from './limitations.ts';
import { printPath } from './path.ts';
import { flat, type Row, rowsOf } from './row.ts';
import type { WrittenErrorRow, WrittenTable } from './schema.ts';
import type { LoadedTables } from './tables.ts';

/** @returns markdown; the same tables give the same text. */
export function renderReadme(tables: LoadedTables): string {
  const { operations, tables: fields, states, errors } = tables.documents;
  const roles = fields.filter((table) => table.role !== undefined);
  const shared = [...new Set(operations.flatMap(({ request, answer }) => [request, answer]))];
  const used = fields.filter((table) => shared.includes(table.table));
  const sections = [
    opening(),
    '## Operations',
    operationsList(tables),
    '## Shared tables',
    'Tables of no single operation: the headers of a request, the body of a Point notice, a payment that is shown from its order, and the names of the oldest API for a payment.',
    ...roles.map(renderTable),
    '## Requests and answers',
    ...used.sort((one, other) => shared.indexOf(one.table) - shared.indexOf(other.table)).map(renderTable),
    '## States',
    'What a till sees of an order in each status. *Rank* decides between two readings of an order that their dates do not put in order. *Final*: the sale is terminal for the till. *Once it cannot change*: the state shown when a state that is held open has become terminal. *Announced*: the notices that the merchant gets.',
    ...states.map(renderStates),
    '## Errors',
    'What a till is answered for an error of upstream. The rows of the call are tried in order, then those under *any*; the first that fits counts. `{}` in a legacy message is the place of a detail, such as the name of a field.',
    ...errors.map(renderErrors),
    '## Limitations',
    'Differences that a till can see are in [docs/limitations.md](../docs/limitations.md), made from `limitations.yaml`.',
    '## Sites',
    renderSites(tables),
    '## Converters',
    'Functions that a row names after *by*; each turns one value into another.',
    list(Object.entries({ ...converters, ...detailConverters }).map(([name, { says }]) => `\`${name}\`: ${says}`)),
    '## Context',
    'Values that a row may take from Puente instead of the message.',
    list(Object.entries(contextSchema.shape).map(([key, value]) => `\`${key}\`: ${value.description ?? ''}`)),
  ];
  return `${sections.join('\n\n')}\n`;
}

function opening(): string {
  return [
    '<!-- Generated from the YAML files beside it by `npm run generate`; change those, not this. -->',
    '# Mapping tables',
    'Each table says, row by row, how a message of one API becomes a message of the other: the request of a till becomes a request to orders, and the answer of orders becomes the answer to the till. A row does one thing: it copies a field, writes a constant, writes a value from the context, drops a field, or goes through each element of a list. A dropped field is `silent` (nothing is recorded), `note` (a loss is recorded) or `refuse` (the call is refused); *Unknown keys* names one of these for fields that no row names.',
    '*Sites* are the countries in which a row applies. *Weight* says what a loss concerns, money or identity (who sold, or which sale it was), and *Advice* what the maker of the till can change. `npx puente check` proves that every field of both sides has a row.',
  ].join('\n\n');
}

function operationsList({ documents }: LoadedTables): string {
  const rows = documents.operations.map((one) => [
    `\`${one.method} ${one.path}\``,
    one.upstream ?? '–',
    one.asks.length === 0 ? '–' : one.asks.map((call) => `\`${call}\``).join(', '),
    anchor(one.request),
    anchor(one.answer),
    `${one.why} (${one.source})${one.double_read ? ' On stage shadow both APIs are read, and their answers compared.' : ''}`,
  ]);
  const proxied = documents.proxied.map((one) => `\`${one.method} ${one.path}\` (${one.source})`);
  return [
    'The calls of tills that Puente translates. *Upstream call* is the call that it becomes, and a dash means that Puente answers from its own store or from the other calls. *Also called*: further calls, each made only when the operation needs it.',
    grid(['Legacy call', 'Upstream call', 'Also called', 'Request', 'Answer', 'Why'], rows),
    `Documented writes that make no sale are proxied to legacy at every stage: ${proxied.join(', ')}.`,
  ].join('\n\n');
}

function anchor(table: string | null): string {
  return table === null ? '–' : `[${table}](#${table.replaceAll('.', '')})`;
}

function renderTable(table: WrittenTable): string {
  const unknown = table.unknown === undefined ? [] : [`Unknown keys: ${policyText(table.unknown)}.`];
  const head = [
    `### ${table.table}`,
    `From ${table.from === 'nothing' ? 'the context alone' : `\`${table.from}\``} to \`${table.to}\`. Source: ${table.source}.`,
    ...unknown,
  ];
  const rows = flat(rowsOf(table.table, table.rows)).map((row) => [
    row.id.slice(row.id.indexOf('#') + 1),
    sourceText(row),
    targetText(row),
    siteText(row),
    whyText(row),
  ]);
  return [...head, grid(['Row', 'From', 'To', 'Sites', 'Why'], rows)].join('\n\n');
}

function policyText(unknown: NonNullable<WrittenTable['unknown']>): string {
  if (typeof unknown === 'string') return unknown;
  return Object.entries(unknown)
    .map(([site, policy]) => `${site === 'elsewhere' ? 'elsewhere' : `at ${site}`} ${policy}`)
    .join(', ');
}

function whyText({ why, weight, advice, matcher, by }: Row): string {
  const parts = [why];
  if (weight !== 'other') parts.push(`Weight: ${weight}.`);
  if (advice !== null) parts.push(`Advice: ${advice}`);
  if (matcher !== 'equal')
    parts.push(`Compared as ${matcher}${by === null ? '' : ` by \`${printPath(by)}\``} in double reads.`);
  return parts.join(' ');
}

function siteText(row: Row): string {
  if (row.sites === null) return 'all';
  return row.elsewhere === null ? row.sites.join(', ') : `${row.sites.join(', ')}; elsewhere ${row.elsewhere}`;
}

function renderStates(table: LoadedTables['documents']['states'][number]): string {
  const rows = table.rows.map((row) => [
    `\`${row.status}\`${row.detail === undefined ? '' : ` with \`${row.detail}\``}`,
    typeof row.shows === 'string'
      ? row.shows
      : `${row.shows.error} or ${row.shows.finished}, by the merchant's setting`,
    row.settled ?? '–',
    String(row.rank),
    row.final ? 'yes' : 'no',
    row.notices.length === 0 ? 'no' : row.notices.join(', '),
    row.why,
  ]);
  const head = ['Order status', 'Legacy state', 'Once it cannot change', 'Rank', 'Final', 'Announced', 'Why'];
  const never = table.never.map((row) => `Never produced: ${row.shows}. ${row.why}`);
  return [`### ${table.table}`, `Source: ${table.source}.`, grid(head, rows), list(never)].join('\n\n');
}

function renderErrors(table: LoadedTables['documents']['errors'][number]): string {
  const head = ['Row', 'Upstream', 'Legacy', 'Why'];
  const part = (title: string, rows: readonly WrittenErrorRow[]) =>
    [
      `#### ${title}`,
      grid(
        head,
        rows.map((row, index) => [String(index + 1), upstreamText(row), legacyText(table.family, row), row.why]),
      ),
    ].join('\n\n');
  const parts = Object.entries(table.calls).map(([call, rows]) => part(call, rows));
  return [`### ${table.table}`, `Source: ${table.source}.`, ...parts, part('any', table.any)].join('\n\n');
}

function upstreamText(row: WrittenErrorRow): string {
  const status = row.status === undefined ? 'anything else' : String(row.status);
  const code = row.code === undefined ? '' : row.code === '' ? ' without a code' : ` \`${row.code}\``;
  const says = row.says === undefined ? '' : ` saying “${row.says}”`;
  const property = row.property === undefined ? '' : ` of \`${row.property}\``;
  return `${status}${code}${says}${property}`;
}

function legacyText(family: Family, row: WrittenErrorRow): string {
  const legacy = legacyError(family, row.error);
  const detail = row.with === undefined ? '' : `, {} by \`${row.with}\``;
  return `${legacy?.status} \`"${legacy?.error}"\` ${legacy?.message}${detail}`;
}

function renderSites({ documents }: LoadedTables): string {
  return grid(
    ['Site', 'Currency', 'Decimals', 'Why'],
    documents.sites.map((site) => [site.id, site.currency, String(site.exponent), site.why]),
  );
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}

function grid(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

// The generated page `docs/limitations.md`: differences between Puente and legacy that a till sees, one heading each.

/** @returns Markdown; the same tables give the same text. */
export function renderLimitations({ documents }: LoadedTables): string {
  const calls = new Map(documents.operations.map(({ name, method, path }) => [name, `\`${method} ${path}\``]));
  return [
    '<!-- Generated from mappings/limitations.yaml by `npm run generate`; change that, not this. -->',
    '# Limitations',
    'Where a till sees something else through Puente, on the orders lane, than the legacy API showed it. Each has a test that shows exactly that difference; everything else is equal, which `test/journeys/fidelity.test.ts` and `qr-fidelity.test.ts` show. On the legacy lane bodies are proxied byte for byte, and what HTTP itself does not let through is listed in LIM-58 and LIM-75 to LIM-77.',
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

/** GitHub's anchor of a heading. */
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

// How a limitation is counted, in one phrase for people.

function countedText(counted: Counted): string {
  if ('unseen' in counted) return `not counted: ${counted.unseen}`;
  if ('notices' in counted) {
    const agent = counted.agent === undefined ? '' : ` while \`notices.user_agent\` is \`${counted.agent}\``;
    return `delivered notices in the form \`${counted.notices}\`${agent}`;
  }
  return counted.map(conditionText).join('; or ');
}

function conditionText(condition: LimitationCondition): string {
  const { ok, errors, rows, without, losses, upstream, unasked, noted } = condition;
  const calls = (upstream ?? []).map(({ name, status, codes }) => {
    const answer = [status, codes === undefined ? undefined : `with ${anyOf(codes)}`].filter(Boolean).join(' ');
    return `\`${name}\` was called${answer === '' ? '' : ` and answered ${answer}`}`;
  });
  return [
    ...(ok === undefined ? [] : [ok ? 'answered 2xx' : 'not answered 2xx']),
    ...(errors === undefined ? [] : [`answered ${anyOf(errors)}`]),
    ...(rows === undefined ? [] : [`the row ${anyOf(rows)} fired`]),
    ...(without === undefined ? [] : [`the row ${anyOf(without)} did not fire`]),
    ...(losses === undefined ? [] : [`lost ${anyOf(losses)}`]),
    ...calls,
    ...(unasked === undefined ? [] : [`without calling ${anyOf(unasked)}`]),
    ...(noted === undefined ? [] : ['marked by the code that makes the difference']),
  ].join(', ');
}

function anyOf(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(' or ');
}
