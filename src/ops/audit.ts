/** The audit trail for operators: read it, and verify its hash chain. */
import { z } from 'zod';
import { INTENT_ID } from '../contract/identifiers.ts';
import { PuenteError, type Said, type Sentence, type Spoken } from '../error.ts';
import { encoded, quoted, readStored, say } from '../locales/message.ts';
import { type AuditEntry, type AuditLine, type ChainMark, chainHash, chainStart } from '../proxy/audit.ts';
import { shownUrl } from '../proxy/evidence/redact-text.ts';
import { routedKinds } from '../proxy/routing/merchant.ts';
import { BY_ITSELF } from './api/person.ts';
import { defined, instant, iso, listLimit, merchantId, pagesOf, said, shown, time, whose } from './fields.ts';
import type { AuditStore, Ports } from './ports.ts';
import { merchant_name, named } from './seen.ts';
import { listedOf, ofEach } from './whose.ts';

const DEFAULT_LIMIT = 50;
/** More lines than an operator reads at once; `until` reaches the older ones. */
const MOST_LISTED = 1000;
/** Lines per page of a chain check: bounds memory, and the time that a page blocks the event loop. */
const PAGE_LINES = 200;

/** The query of `GET /api/audit`; lines written in [since, until). */
export const auditQuery = z.strictObject({
  // A line about a sale names its merchant in its details, or only by its sale: no index has either.
  merchant: whose
    .describe(
      'only lines whose subject is the merchant with this id (digits are always one), or one of those with this name or tag, or with this in them; the report of a merchant has those about its sales, too',
    )
    .exactOptional(),
  subject: z.string().min(1).max(200).exactOptional().describe('of this merchant or legacy id'),
  action: z.string().min(1).max(100).exactOptional().describe('of this kind, such as stage'),
  since: instant.exactOptional().describe('made then or later, such as 2026-01-31T09:00:00Z'),
  until: instant.exactOptional().describe('made before then'),
  limit: listLimit(DEFAULT_LIMIT, MOST_LISTED, 'input.limit_lines').describe('at most so many'),
});

const BOTH = encoded(say('input.line_noted', {}));

export const verifyQuery = z
  .strictObject({
    expect_sequence: z.coerce.number().int().min(1).exactOptional(),
    expect_hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, encoded(say('input.line_hash', {})))
      .transform((hash) => hash.toLowerCase())
      .exactOptional(),
  })
  .refine((query) => (query.expect_sequence === undefined) === (query.expect_hash === undefined), BOTH);

export const auditLine = z.object({
  sequence: z.int(),
  at: time,
  who: z.string(),
  action: z.string(),
  subject: z.string().describe('a merchant, or a sale by its legacy id'),
  reason: z.string(),
  said: said.nullable().describe('what Puente gave as its reason; null for a person’s words'),
  change: z.string().describe('from what to what, in words; empty where no setting changed'),
  change_said: z.array(said),
  detail: z.record(z.string(), z.unknown()),
  hash: z.string(),
});
/** With the present name of the merchant that is its subject: no name is written to the chain. */
export const namedLine = auditLine.extend({ merchant_name });
export type AuditView = z.infer<typeof namedLine>;

/** The reason of a line: a message where Puente or an alert acted, else a person's own words. */
export function reasonOf({ who, reason, detail }: Pick<AuditLine, 'who' | 'reason' | 'detail'>): Sentence {
  return who === BY_ITSELF || detail.alert !== undefined ? readStored(reason) : quoted(reason);
}

/**
 * The reason of an audit line in English, and as a code for other languages; `said` is null for what a person wrote.
 */
export function whyOf(reason: string): { why: string; said: Said | null } {
  const { text, said } = readStored(reason);
  return { why: text, said };
}

/** The merchant that a line is about: one that it names, or that of its sale; null for the whole installation. */
export async function merchantOfLine(
  { links }: Pick<Ports['store'], 'links'>,
  { subject, detail }: AuditLine,
): Promise<string | null> {
  if (typeof detail.merchant === 'string') return detail.merchant;
  if (INTENT_ID.test(subject)) return (await links.link(subject))?.merchant_id ?? null;
  return merchantId.safeParse(subject).data ?? null;
}

/** Sequence of the newest line, about a subject or any; 0 for none. */
export async function newestOf({ store }: Pick<Ports, 'store'>, subject?: string): Promise<number> {
  return (await store.audit.auditsOf(defined({ subject }), 1))[0]?.sequence ?? 0;
}

/** False once the chain has another line in its place, or none: a standby that takes over may lack the newest lines. */
export async function isInChain({ audit }: Pick<Ports['store'], 'audit'>, mark: ChainMark): Promise<boolean> {
  const [line] = await audit.auditsAfter(mark.sequence - 1, 1);
  return line?.hash === mark.hash;
}

/**
 * Writes a line that one of several processes writes: it is decided anew when its subject got another line meanwhile.
 * @param lineOf reads the trail; null when it says this already.
 */
export async function noteOnce(
  ports: Pick<Ports, 'store'>,
  subject: string,
  lineOf: () => Promise<Omit<AuditEntry, 'subject'> | null>,
): Promise<void> {
  for (;;) {
    const seen = await newestOf(ports, subject);
    const line = await lineOf();
    if (line === null) return;
    try {
      return await ports.store.audit.appendAudit({ ...line, subject }, seen);
    } catch (error) {
      if (!(error instanceof PuenteError) || error.code !== 'conflict') throw error;
    }
  }
}

const chainMark = z.object({ sequence: z.int(), hash: z.string() });

export const chainView = z.object({
  intact: z.boolean(),
  lines: z.int().describe('valid lines, counted from the first'),
  head: chainMark.nullable().describe('the last valid line: store it elsewhere and pass it to the next check'),
  expected: chainMark.nullable().describe('the head of an earlier check, as it was passed'),
  broken: z
    .object({ sequence: z.int(), reason: z.string(), said })
    .nullable()
    .describe('the first line that does not follow from the one before it'),
});
export type ChainView = z.infer<typeof chainView>;

export interface BrokenLink {
  /** The first line that does not follow from the one before it. */
  sequence: number;
  why: Spoken;
}

/** Newest first. @throws PuenteError as `refuseUnseenRead`. */
export async function viewAudit(
  ports: Ports,
  { merchant, limit, ...filter }: z.infer<typeof auditQuery>,
  signal: AbortSignal | null = null,
): Promise<AuditView[]> {
  // A merchant's lines are those about it alone.
  const about = filter.subject === undefined ? merchant : merchant?.filter((id) => id === filter.subject);
  const lines = await ofEach(
    about,
    (subject) => ports.store.audit.auditsOf(defined({ ...filter, subject: subject ?? filter.subject }), limit),
    signal,
    { limit, newest: ({ sequence }) => sequence },
  );
  const listed = await listedOf(ports, merchant, lines);
  const views = await named(
    ports,
    listed.map((line) => {
      const { text: reason, said } = reasonOf(line);
      return { ...shown(line), merchant_id: line.subject, reason, said, ...changeOf(line) };
    }),
  );
  return views.map(({ merchant_id: _subject, ...line }) => line);
}

/** Checks the whole chain, and that an expected line is still in it. */
export async function viewChain(ports: Ports, query: z.infer<typeof verifyQuery>): Promise<ChainView> {
  const { expect_sequence: sequence, expect_hash: hash } = query;
  const expected = sequence === undefined || hash === undefined ? null : { sequence, hash };
  return verifyAuditStream(ports.store.audit, expected);
}

/**
 * Reads the chain page by page, and stops at the first broken link. The lines alone can't show that the newest ones
 * were cut off, or that all were rewritten: `expected`, a head that was stored elsewhere, does.
 */
export async function verifyAuditStream(
  store: Pick<AuditStore, 'auditsAfter'>,
  expected: ChainMark | null = null,
): Promise<ChainView> {
  let head = chainStart();
  const report = (broken: BrokenLink | null): ChainView => ({
    intact: broken === null,
    lines: head.sequence,
    head: head.sequence === 0 ? null : head,
    expected,
    broken: broken && { sequence: broken.sequence, reason: broken.why.text, said: broken.why.said },
  });
  for await (const page of pagesOf((after, size) => store.auditsAfter(after, size), PAGE_LINES)) {
    for (const line of page) {
      const broken = brokenLink(head, line) ?? otherThanExpected(line, expected);
      if (broken !== null) return report(broken);
      head = { sequence: line.sequence, hash: line.hash };
    }
  }
  return report(cutOff(head, expected));
}

/** Null when the line follows the mark: the next sequence, and a hash over the mark's hash and the line. */
export function brokenLink(previous: ChainMark, line: AuditLine): BrokenLink | null {
  const { sequence } = line;
  if (sequence !== previous.sequence + 1)
    return { sequence, why: say('chain.missing', { line: previous.sequence + 1 }) };
  if (chainHash(previous.hash, line) !== line.hash) return { sequence, why: say('chain.changed', { line: sequence }) };
  return null;
}

function otherThanExpected(line: AuditLine, expected: ChainMark | null): BrokenLink | null {
  if (expected === null || line.sequence !== expected.sequence || line.hash === expected.hash) return null;
  return { sequence: line.sequence, why: say('chain.anew', { line: line.sequence }) };
}

function cutOff(head: ChainMark, expected: ChainMark | null): BrokenLink | null {
  if (expected === null || expected.sequence <= head.sequence) return null;
  const sequence = head.sequence + 1;
  const last = expected.sequence;
  const cut = last === sequence ? say('chain.cut_one', { line: last }) : say('chain.cut', { line: sequence, last });
  return { sequence, why: cut };
}

// What a line changed, from → to, as sentences; lines of earlier versions read alike.

/** Units of a list that a sentence names; the line's facts have them all. */
const MOST_UNITS = 5;
/** Of a digest: enough to recognise a file. */
const SHOWN_DIGITS = 12;

/** Reads the recorded facts alone. Empty where the line changed nothing that has a before and an after, or a target. */
export function changeOf({ action, detail }: Pick<AuditLine, 'action' | 'detail'>): {
  change: string;
  change_said: Said[];
} {
  const changes = action.startsWith('brown-out') ? windowSaid(recordOf(detail.after)) : [...changesIn(detail)];
  const sentences = [...changes, ...fileSaid(action, detail)];
  return { change: sentences.map(({ text }) => text).join('; '), change_said: sentences.map(({ said }) => said) };
}

function* changesIn(detail: AuditLine['detail']): Generator<Spoken> {
  const [before, after, target] = [detail.before, detail.after, detail.target].map(recordOf) as [Facts, Facts, Facts]; // three in, three out
  const kind = typeof detail.kind === 'string' ? detail.kind : null;
  if (typeof detail.signature === 'string' && typeof after.state === 'string') {
    const states = { before: differenceState(before), after: differenceState(after) };
    return yield say('line.judged', { signature: detail.signature, ...states });
  }
  for (const [name, value] of Object.entries(after)) {
    if (name === 'stage') yield routeSaid(kind, before, after, detail.rollback === true);
    else if (routedKinds.some((one) => one === name))
      yield routeSaid(name, recordOf(before[name]), recordOf(value), false);
    else if (name === 'units_in' || name === 'units_out') yield* unitsSaid(name, before[name], value);
    else if (name !== 'share')
      yield say('line.setting', { setting: name, before: wordOf(name, before[name]), after: wordOf(name, value) });
  }
  for (const setting of Array.isArray(detail.secrets) ? detail.secrets : [])
    yield say('line.secret', { setting: String(setting) });
  if (detail.after === undefined && target.stage !== undefined)
    yield say('line.target', { kind: typeof target.kind === 'string' ? target.kind : null, after: route(target) });
}

type Facts = Record<string, unknown>;

function recordOf(value: unknown): Facts {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Facts) : {}; // any JSON object
}

function routeSaid(kind: string | null, before: Facts, after: Facts, is_rollback: boolean): Spoken {
  const change = { kind, before: route(before), after: route(after) };
  return is_rollback ? say('line.rollback', change) : say('line.stage', change);
}

/** A stage of null is that of the merchant, which a kind follows. */
function route({ stage, share }: Facts): Spoken {
  if (typeof stage !== 'string') return say('line.follows', {});
  return say('line.route', { stage, share: stage === 'canary' && typeof share === 'number' ? share : null });
}

function unitsSaid(setting: string, before: unknown, after: unknown): Spoken[] {
  const [from = [], to = []] = [before, after].map((list) => (Array.isArray(list) ? list.map(String) : []));
  const beyond = (list: string[], other: string[]): string[] => {
    const own = list.filter((unit) => !other.includes(unit));
    return own.length > MOST_UNITS ? [...own.slice(0, MOST_UNITS), `+${own.length - MOST_UNITS}`] : own;
  };
  const [added, removed] = [beyond(to, from), beyond(from, to)];
  return [
    ...(added.length === 0 ? [] : [say('line.added', { setting, units: added })]),
    ...(removed.length === 0 ? [] : [say('line.removed', { setting, units: removed })]),
  ];
}

function wordOf(setting: string, value: unknown): Spoken {
  if (value === null || value === undefined) return say('line.default', {});
  if (Array.isArray(value) && value.every((one) => typeof one === 'string'))
    return value.length === 0 ? say('line.default', {}) : say('line.value', { value: value.join(', ') });
  if (typeof value === 'boolean') return say(value ? 'line.on' : 'line.off', {});
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return say('line.value', { value: setting === 'notice_url' ? shownUrl(text) : text });
}

/** Instants are epoch ms. */
function windowSaid({ from, until, aborted_at }: Facts): Spoken[] {
  if (typeof aborted_at === 'number') return [say('line.ended', { ended_at: iso(aborted_at) })];
  if (typeof from !== 'number' || typeof until !== 'number') return [];
  return [say('line.window', { since_at: iso(from), until_at: iso(until) })];
}

/** The file of merchants that a line is about, or that its change is from; its digest as `sha256sum` begins it. */
function fileSaid(action: string, { file, sha256, merchants, changes }: Facts): Spoken[] {
  if (typeof file !== 'string' || typeof sha256 !== 'string') return [];
  const facts = { file, digest: sha256.slice(0, SHOWN_DIGITS) };
  if (action !== 'file applied') return [say('line.by_file', facts)];
  return [
    say('line.file', { ...facts, count: Array.isArray(merchants) ? merchants.length : 0, changes: Number(changes) }),
  ];
}

function differenceState({ state, accepted_until }: Facts): Spoken {
  const until_at = typeof accepted_until === 'string' ? accepted_until : null;
  return say('line.difference', { state: String(state), until_at });
}
