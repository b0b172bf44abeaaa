/** Lists of merchants and steps as people write them, for commands and pages. */
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { LONGEST_NAME, refuseDamaged } from '../fields.ts';

/**
 * The items of a list: a line is of one or several merchants, with a target of their own or none, such as
 * `700100300, 700100400 (Café Sur) canary 5`; `#` begins a comment.
 * @throws PuenteError bad_request with the number of the line that can't be read.
 */
export function bulkItems(list: string): Record<string, unknown>[] {
  return withoutNames(list)
    .split('\n')
    .flatMap((line, index) => {
      const text = line.replace(/#.*/, '').trim();
      if (text === '') return [];
      const words = text.split(/[\s,;]+/);
      const target = words.findIndex((word) => !/^\d+$/.test(word));
      const ids = target === -1 ? words : words.slice(0, target);
      const [stage, share, ...more] = words.slice(ids.length);
      const is_read = /^[a-z]/i.test(stage ?? 'none') && /^\d{1,3}(\.\d{1,2})?$/.test(share ?? '0');
      if (ids.length === 0 || !is_read || more.length > 0)
        throw new PuenteError('bad_request', say('refusal.bulk_line', { line: index + 1 }));
      const own = { ...(stage && { stage }), ...(share && { share: Number(share) }) };
      return ids.map((merchant_id) => ({ merchant_id, ...own }));
    });
}

/**
 * The text without the names that commands and pages show beside ids, as in `700100200 (Café Sur)`.
 * @throws PuenteError bad_request with line and id where it is not certain where a name ends: it may hide the next id.
 */
export function withoutNames(text: string): string {
  const id = /#.*|(?:^|[\s,;])(\d+) (?=\()/g;
  let [kept, from] = ['', 0];
  for (let found = id.exec(text); found !== null; found = id.exec(text)) {
    const [whole, own] = found; // without an id a comment, which may be the end of a name that holds `#`
    const beside =
      own ??
      text
        .slice(text.lastIndexOf('\n', found.index) + 1, found.index)
        .match(/\d+/g)
        ?.at(-1);
    if (beside === undefined || (own === undefined && !hidesEntry(whole))) continue;
    const name = own === undefined ? null : nameAt(text, id.lastIndex);
    if (name === null) {
      const line = text.slice(0, id.lastIndex).split('\n').length;
      throw new PuenteError('bad_request', say('refusal.list_name', { line, id: beside }));
    }
    kept += text.slice(from, id.lastIndex);
    from = id.lastIndex + name.length;
    id.lastIndex = from;
  }
  return kept + text.slice(from);
}

/** True for a comment that closes a bracket which it does not open, with another id behind it. */
function hidesEntry(comment: string): boolean {
  return comment.split(')').length > comment.split('(').length && /\)[^()]*\d/.test(comment);
}

/** What may follow a name: the end of its line, a comment, the next id, or a target. */
const GOES_ON = /^[\s,;]*(?:$|\n|#|\d+(?![^\s,;])|(?:legacy|shadow|canary|orders)(?![^\s,;]))/;

/**
 * A name may hold commas and brackets: it ends with a bracket behind which the list goes on, if possible with every bracket
 * within it closed. @param from the place of its first bracket. @returns it with its brackets; null where it is not certain.
 */
function nameAt(text: string, from: number): string | null {
  const [line = ''] = text.slice(from, from + LONGEST_NAME + 2).split('\n');
  const isClosed = (name: string): boolean => name.split(')').length >= name.split('(').length;
  const names = [...line.matchAll(/\)/g)].map(({ index }) => line.slice(0, index + 1));
  const possible = names.filter((name) => GOES_ON.test(text.slice(from + name.length)));
  const name = possible.find(isClosed) ?? possible[0];
  if (name === undefined) return null;
  // In each of these an entry may be hidden: an id between two brackets, by its length or behind a comma; a bracket behind the
  // end; one that was forgotten.
  const behind = name.slice(names.find(isClosed)?.length ?? name.length);
  const may_be_two = isClosed(name)
    ? /\)[^()]*(?:[,;][^()]*\d|\d{5})[^()]*\(|\d{5}\S* ?\(/.test(name) || behind.includes('(')
    : /[,;)].*\(|\d\S* ?\(/.test(name);
  return may_be_two ? null : name;
}

/**
 * Steps as people write them: `5,25,100` or `5, 25, 100`. Beside spaces or semicolons a comma before one digit is that of a
 * decimal, as in `2,5, 25`. @throws PuenteError bad_request for other texts.
 */
export function stepsIn(text: string): number[] {
  const parts = /[;\s]/.test(text.trim()) ? text.trim().split(/\s*;\s*|\s*,\s+|\s+,\s*|\s+/) : text.trim().split(',');
  if (!parts.every((part) => /^\d{1,3}(,\d|\.\d{1,2})?%?$/.test(part)))
    throw new PuenteError('bad_request', say('input.steps', {}));
  return parts.map((part) => Number(part.replace('%', '').replace(',', '.')));
}

/**
 * Names and tags of many merchants as a file has them: CSV with a header, or a YAML list with the same fields.
 * @param file its name, for errors; null for a pasted text. A list in YAML is recognised by its first dash, too.
 * @returns the `merchants` of an import. @throws PuenteError bad_request for a text that is neither, with the line.
 */
export async function shopsIn(text: string, file: string | null): Promise<Record<string, unknown>[]> {
  refuseDamaged(text, file);
  const list = text.replace(/^\uFEFF/, '');
  const is_yaml = /\.ya?ml$/.test(file ?? '') || /^\s*-/.test(list);
  const rows = is_yaml ? await yamlRows(list, file) : csvRows(list, file);
  return rows.map(({ id, name, tags }) => ({
    merchant_id: String(id ?? ''),
    name: name === '' || name === undefined ? undefined : String(name),
    tags: typeof tags === 'string' ? tags.split(/[\s,;|]+/).filter((tag) => tag !== '') : tags,
  }));
}

type Shop = Record<string, unknown>;

async function yamlRows(text: string, file: string | null): Promise<Shop[]> {
  const { readYaml } = await import('../plan/file.ts'); // with a reader of YAML, which other commands do not need
  const { content: rows } = readYaml(file ?? 'YAML', text);
  if (Array.isArray(rows) && rows.every((row) => typeof row === 'object' && row !== null)) return rows as Shop[]; // just checked
  throw new PuenteError('bad_request', say('input.shop_list', { file }));
}

/** RFC 4180, with commas, or with semicolons as spreadsheets in Spanish and Portuguese write. */
function csvRows(text: string, file: string | null): Shop[] {
  // Spreadsheets leave lines of separators alone.
  const lines = [...text.split(/\r?\n/).entries()].filter(([, line]) => /[^\s,;]/.test(line));
  const comma = lines[0]?.[1].includes(';') ? ';' : ',';
  const cell = new RegExp(`(?<=^|${comma})(?:\\s*"((?:[^"]|"")*)"\\s*|((?!\\s*")[^${comma}]*))(?=${comma}|$)`, 'g');
  const cellsOf = ([nth, line]: [number, string]): string[] => {
    const found = [...line.matchAll(cell)];
    // A name with commas or quotes that is not quoted would be cut, and its rest taken for tags.
    if (found.map(([whole]) => whole).join(comma) !== line)
      throw new PuenteError('bad_request', say('input.shop_cells', { file, line: nth + 1 }));
    return found.map(([, inner, plain = '']) => (inner?.replaceAll('""', '"') ?? plain).trim());
  };
  const [first = [0, ''] as [number, string], ...others] = lines;
  const head = cellsOf(first);
  if (!head.includes('id')) throw new PuenteError('bad_request', say('input.shop_columns', { file }));
  const columns = ['id', 'name', 'tags'].filter((name) => head.includes(name));
  const places = columns.map((name) => [name, head.lastIndexOf(name)] as const);
  return others.map((line) => {
    const row = cellsOf(line);
    if (row.slice(head.length).some((more) => more !== ''))
      throw new PuenteError('bad_request', say('input.shop_cells', { file, line: line[0] + 1 }));
    return Object.fromEntries(places.map(([name, nth]) => [name, row[nth] ?? '']));
  });
}
