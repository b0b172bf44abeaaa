/** The audit trail for operators: read it, and verify its hash chain. */
import { z } from 'zod';
import { PuenteError, type Said, type Sentence, type Spoken } from '../error.ts';
import { encoded, quoted, readStored, say } from '../locales/message.ts';
import { type AuditLine, type ChainMark, chainHash, chainStart } from '../proxy/audit.ts';
import { BY_ITSELF } from './api/person.ts';
import { instant, listLimit, pagesOf, said, shown, time } from './fields.ts';
import type { AuditStore, Ports } from './ports.ts';

const DEFAULT_LIMIT = 50;
/** More lines than an operator reads at once; `until` reaches the older ones. */
const MOST_LISTED = 1000;
/** Lines per page of a chain check: bounds memory, and the time that a page blocks the event loop. */
const PAGE_LINES = 200;

/** The query of `GET /api/audit`; lines written in [since, until). */
export const auditQuery = z.strictObject({
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
  detail: z.record(z.string(), z.unknown()),
  hash: z.string(),
});
export type AuditView = z.infer<typeof auditLine>;

/** The reason of a line: a message where Puente acted, else a person's own words. */
export function reasonOf({ who, reason }: Pick<AuditLine, 'who' | 'reason'>): Sentence {
  return who === BY_ITSELF ? readStored(reason) : quoted(reason);
}

export function whyOf(reason: string): { why: string; said: Said | null } {
  const { text, said } = readStored(reason);
  return { why: text, said };
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

/** Newest first. @throws PuenteError bad_request for a window that ends before it begins. */
export async function viewAudit(ports: Ports, { limit, ...filter }: z.infer<typeof auditQuery>): Promise<AuditView[]> {
  if (filter.since !== undefined && filter.until !== undefined && filter.until <= filter.since)
    throw new PuenteError('bad_request', say('refusal.empty_audit', {}));
  const lines = await ports.store.audit.auditsOf(filter, limit);
  return lines.map((line) => {
    const { text: reason, said } = reasonOf(line);
    return { ...shown(line), reason, said };
  });
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
