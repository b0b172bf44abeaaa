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
import { instant, merchantId } from '../fields.ts';
import { endsAfterItStarts, merchantChange } from '../merchants.ts';
import { FOLLOW, moveTarget } from '../moves/target.ts';

/** Each is read and judged anew at every plan, and named in the audit line of an apply. */
const MOST_MERCHANTS = 2_000;
/** Of one refusal; a person repairs no more at once. */
const MOST_ERRORS = 20;

/** Where a value stands that is not in the file: a variable, or a file beside it. */
const REFERENCE = /^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:\S.*)$/;
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
  const lines = new LineCounter();
  const document = parseDocument(text, { prettyErrors: false, lineCounter: lines });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  // The parser's own sentences quote the text, which may be a secret.
  const broken = document.errors.map(({ code, pos }) => say('file.broken', { place: at(pos[0]), code }));
  if (broken.length > 0) throw refusal(broken);
  keepDigits(document);
  const read = file.safeParse(contentOf(document, name), { reportInput: true });
  if (!read.success) throw refusal(read.error.issues.flatMap((issue) => errorsOf(document, issue, at)));
  const placeOf = (nth: number, field: string): string => at(offsetOf(document, ['merchants', nth, field]));
  return { wanted: read.data.merchants, placeOf };
}

function refusal(errors: readonly Spoken[]): PuenteError {
  const more = errors.length - MOST_ERRORS;
  const rest = more > 0 ? [say('file.more', { count: more })] : [];
  return new PuenteError('bad_request', [...errors.slice(0, MOST_ERRORS), ...rest], { between: '\n' });
}

/** @throws PuenteError bad_request for aliases that would expand without bound. */
function contentOf(document: Document.Parsed, name: string): unknown {
  try {
    return document.toJS();
  } catch (cause) {
    throw new PuenteError('bad_request', say('file.aliases', { file: name }), { cause });
  }
}

/** Fields whose text may look like a number, which YAML would round or shorten: `0700100200`, `1e3`, `1.50`. */
const TEXTS: readonly string[] = ['id', 'name', 'tags', 'units_in', 'units_out'];

function keepDigits(document: Document.Parsed): void {
  visit(document, {
    Scalar(key, scalar, above) {
      const field = above.findLast(isPair)?.key;
      if (key === 'key' || !isScalar(field) || !TEXTS.includes(String(field.value))) return;
      const { source, value } = scalar as Scalar.Parsed; // of a parsed document
      if (value !== null && typeof value !== 'string') scalar.value = source;
    },
  });
}

function errorsOf(document: Document.Parsed, issue: z.core.$ZodIssue, at: (offset: number) => string): Spoken[] {
  if (issue.code !== 'unrecognized_keys') {
    const wrong = issueSaid(file, issue);
    return [say('file.at', { place: at(offsetOf(document, issue.path)), wrong })];
  }
  const allowed = fieldsAt(file, issue.path) ?? [];
  return issue.keys.map((key) => {
    const place = at(offsetOf(document, issue.path, key));
    const near = nearTo(key, allowed);
    return say('file.unknown', { place, field: key.slice(0, 60), near: near.length === 0 ? null : near, allowed });
  });
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

const SECRETS: readonly string[] = ['notice_url', 'notice_secret', 'credential'];

/** The references of a text that need not be valid. */
export function referencesIn(text: string): string[] {
  const found = new Set<string>();
  visit(parseDocument(text, { prettyErrors: false }), {
    Pair(_nth, { key, value }) {
      if (!isScalar(key) || !SECRETS.includes(String(key.value)) || !isScalar(value)) return;
      if (typeof value.value === 'string' && isReference(value.value)) found.add(value.value);
    },
  });
  return [...found];
}

export function isReference(text: string): boolean {
  return REFERENCE.test(text);
}
