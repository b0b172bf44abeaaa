/** A file of merchants: what it may say, and reading it; each error names file, line, column and what would fit. */
import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  visit,
} from 'yaml';
import { z } from 'zod';
import { PuenteError, type Spoken } from '../../error.ts';
import { encoded, say } from '../../locales/message.ts';
import { nearTo } from '../../mapping/near.ts';
import { merchantSettings, routedKinds, stages } from '../../proxy/routing/merchant.ts';
import { fieldsAt, issueSaid } from '../api/route.ts';
import { instant, merchantId, refuseDamaged } from '../fields.ts';
import { endsAfterItStarts, isBare, merchantChange, SHOWS_SECRET } from '../merchants.ts';
import { FOLLOW, moveTarget } from '../moves/target.ts';
import { REFERENCE } from './reference.ts';

/** Each is read and judged anew at every plan, and named in the audit line of an apply. */
export const MOST_MERCHANTS = 500;
/** Payments wait while a text is parsed: one of this length takes about 0.2 s of processor time (measured). */
export const LONGEST_TEXT = 100_000;
/** Of one text: the library compares each with every node before it. */
const MOST_ALIASES = 1_000;
/** Of one refusal; a person repairs no more at once. */
const MOST_ERRORS = 20;

const secret = z
  .string()
  .regex(REFERENCE, encoded(say('input.reference', {})))
  .nullable()
  .optional();

const { notice_url: _url, reason: _reason, revision: _revision, ...settable } = merchantChange.shape;
const dates = merchantSettings.shape.deprecation.unwrap().unwrap();
const date = instant.nullable().default(null);

const route = z.strictObject({ stage: z.enum([...stages, FOLLOW]), share: moveTarget.shape.share });

const entry = z.strictObject({
  id: merchantId,
  ...settable,
  stage: z.enum(stages).exactOptional(),
  share: moveTarget.shape.share,
  units_in: moveTarget.shape.units_in,
  units_out: moveTarget.shape.units_out,
  kinds: z
    .strictObject({ devices: route.exactOptional(), intents: route.exactOptional(), qr: route.exactOptional() })
    .exactOptional(),
  /** A URL, or a reference to one: URLs of receivers may contain keys. */
  notice_url: z.string().min(1).max(2048).nullable().optional(),
  deprecation: dates
    .extend({ deprecated_at: date, sunset_at: date })
    .nullable()
    .refine(endsAfterItStarts, encoded(say('input.sunset', {})))
    .refine((one) => isBare(one?.link ?? null), SHOWS_SECRET)
    .optional(),
  notice_secret: secret,
  credential: secret,
});
/** What the file wants of one merchant; what it leaves out stays as it is. */
export type Wanted = z.infer<typeof entry>;

const file = z.strictObject({ merchants: z.array(entry).min(1).max(MOST_MERCHANTS).superRefine(refuseOdd) });

/** The settings that an entry may have and that `changeMerchant` takes. */
export const settingNames = Object.keys(settable).filter((name) => name !== 'new');

/** What one entry alone, or its fields apart, can't show; the judgement of moves refuses all else. */
function refuseOdd(merchants: Wanted[], context: z.RefinementCtx): void {
  const refuse = (path: PropertyKey[], said: Spoken): void =>
    context.addIssue({ code: 'custom', path, message: encoded(said) });
  const ids = new Set<string>();
  for (const [nth, { id, stage, share, units_in, units_out, kinds = {} }] of merchants.entries()) {
    if (ids.has(id)) refuse([nth, 'id'], say('refusal.named_twice', { merchant: id }));
    ids.add(id);
    const canary = say('input.canary_alone', {});
    if (share !== undefined && stage !== 'canary') refuse([nth, 'share'], canary);
    for (const kind of routedKinds)
      if (kinds[kind]?.share !== undefined && kinds[kind].stage !== 'canary')
        refuse([nth, 'kinds', kind, 'share'], canary);
    const is_canary = [stage, ...routedKinds.map((kind) => kinds[kind]?.stage)].includes('canary');
    for (const [name, units] of Object.entries({ units_in, units_out }))
      if (units !== undefined && !is_canary) refuse([nth, name], canary);
  }
}

/**
 * The merchants of a file. @param name of the file, in errors. @param text YAML; JSON is YAML, too.
 * @throws PuenteError bad_request with one sentence for each error: `shops.yaml:4:5: …`; never with a secret.
 */
export function readMerchants(
  name: string,
  text: string,
): { wanted: Wanted[]; placeOf(nth: number, field: string): string } {
  refuseDamaged(text, name);
  const { document, content, at } = readYaml(name, text);
  const count = countIn(content);
  if (count > MOST_MERCHANTS)
    throw new PuenteError(
      'bad_request',
      say('file.many', { place: at(offsetOf(document, ['merchants'])), count, most: MOST_MERCHANTS }),
    );
  const read = file.safeParse(content, { reportInput: true });
  if (!read.success) throw refusal(read.error.issues.flatMap(mistakesOf), (one) => mistakeSaid(document, one, at));
  const placeOf = (nth: number, field: string): string => at(offsetOf(document, ['merchants', nth, field]));
  return { wanted: read.data.merchants, placeOf };
}

/**
 * In time that grows with the length of the text alone. @param name of the file, in errors.
 * @returns its content, and the place of an offset. @throws PuenteError bad_request, never with a part of the text.
 */
export function readYaml(name: string, text: string) {
  const lines = new LineCounter();
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  // Without the parser's search for keys that are there twice, which compares each with each: `keptDigits` finds them.
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: false, lineCounter: lines });
  // The parser's own sentences quote the text, which may be a secret.
  const broken = [...document.errors.map(({ code, pos }) => ({ code, from: pos[0] })), ...keptDigits(document)];
  if (broken.length > 0) throw refusal(broken, ({ code, from }) => say('file.broken', { place: at(from), code }));
  return { document, content: contentOf(document, name), at };
}

/** @param sentenceOf of one error: only the errors that are shown get one. */
function refusal<Wrong>(errors: readonly Wrong[], sentenceOf: (error: Wrong) => Spoken): PuenteError {
  const more = errors.length - MOST_ERRORS;
  const rest = more > 0 ? [say('file.more', { count: more })] : [];
  return new PuenteError('bad_request', [...errors.slice(0, MOST_ERRORS).map(sentenceOf), ...rest], { between: '\n' });
}

function countIn(content: unknown): number {
  const { merchants } = Object(content) as { merchants?: unknown }; // any content has it or not
  return Array.isArray(merchants) ? merchants.length : 0;
}

/** @throws PuenteError bad_request for aliases that are too many, or would expand without bound. */
function contentOf(document: Document.Parsed, name: string): unknown {
  let aliases = 0;
  visit(document, { Alias: () => (++aliases > MOST_ALIASES ? visit.BREAK : undefined) });
  try {
    if (aliases > MOST_ALIASES) throw new RangeError(`more than ${MOST_ALIASES} aliases`);
    return document.toJS();
  } catch (cause) {
    throw new PuenteError('bad_request', say('file.aliases', { file: name }), { cause });
  }
}

/** Fields whose text may look like a number, which YAML would round or shorten: `0700100200`, `1e3`, `1.50`. */
const TEXTS: readonly string[] = ['id', 'name', 'tags', 'units_in', 'units_out'];

/** Makes texts of these fields' numbers. @returns keys that a mapping has twice, and aliases of nothing before them. */
function keptDigits(document: Document.Parsed): { code: string; from: number }[] {
  const wrong: { code: string; from: number }[] = [];
  const anchors = new Set<unknown>();
  visit(document, {
    Alias: (_key, alias) =>
      void (anchors.has(alias.source) || wrong.push({ code: 'UNKNOWN_ALIAS', from: startOf(alias) })),
    Seq: (_key, { anchor }) => void anchors.add(anchor),
    Map(_key, { items, anchor }) {
      anchors.add(anchor);
      const keys = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (keys.has(key.value)) wrong.push({ code: 'DUPLICATE_KEY', from: startOf(key) });
        keys.add(key.value);
      }
    },
    Scalar(key, scalar, above) {
      anchors.add(scalar.anchor);
      const field = above.findLast(isPair)?.key;
      if (key === 'key' || !isScalar(field) || !TEXTS.includes(String(field.value))) return;
      const { source, value } = scalar as Scalar.Parsed; // of a parsed document
      if (value !== null && typeof value !== 'string') scalar.value = source;
    },
  });
  return wrong;
}

interface Mistake {
  issue: z.core.$ZodIssue;
  /** An unknown one. */
  key: string | null;
}

function mistakesOf(issue: z.core.$ZodIssue): Mistake[] {
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => ({ issue, key })) : [{ issue, key: null }];
}

function mistakeSaid(document: Document.Parsed, { issue, key }: Mistake, at: (offset: number) => string): Spoken {
  if (key === null) return say('file.at', { place: at(offsetOf(document, issue.path)), wrong: issueSaid(file, issue) });
  const place = at(offsetOf(document, issue.path, key));
  const allowed = fieldsAt(file, issue.path) ?? [];
  // Without a space after its colon, a field and its value are one key, and the value may be a secret.
  const [field = ''] = key.split(':', 1);
  if (field !== key && allowed.includes(field)) return say('file.no_space', { place, field });
  const near = nearTo(field, allowed);
  return near.length === 0
    ? say('file.unknown', { place, field: null, near: null, allowed })
    : say('file.unknown', { place, field, near, allowed });
}

/** Of the value at a path, else of the nearest value above it. @param key of the mapping at the path: the place of the key. */
function offsetOf(document: Document.Parsed, path: readonly PropertyKey[], key?: string): number {
  for (let end = path.length; end >= 0; end--) {
    const node = end === 0 ? document.contents : document.getIn(path.slice(0, end), true);
    if (key !== undefined && isMap(node)) {
      const pair = node.items.find((one) => isScalar(one.key) && String(one.key.value) === key);
      if (isNode(pair?.key)) return startOf(pair.key);
    }
    if (isNode(node)) return startOf(node);
  }
  return 0;
}

function startOf({ range }: Node): number {
  return range?.[0] ?? 0;
}
