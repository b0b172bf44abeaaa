/** Mismatches in the audit chain: reported, repaired, accepted by a person, or open. */

import { z } from 'zod';
import { PuenteError, type Sentence, type Spoken } from '../../error.ts';
import { encoded, readStored, say } from '../../locales/message.ts';
import { decimalOfMinor } from '../../mapping/values.ts';
import type { AuditAction, AuditEntry, AuditLine } from '../../proxy/audit.ts';
import { createDisagreements, type Standing } from '../../proxy/process-memory.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { approvalFault } from '../../proxy/sales/order-transition.ts';
import { type Mismatch, type MismatchKind, mismatchKinds } from '../../proxy/sales/orphans.ts';
import { BY_ITSELF } from '../api/person.ts';
import { isInChain, newestOf, noteOnce } from '../audit.ts';
import { defined, iso, pagesOf, reason, said, time } from '../fields.ts';
import type { Ports } from '../ports.ts';

/** Audit lines per page; other work runs between two pages. */
const PAGE = 200;
/** Lines of one kind and sale that are read to find where its present disagreement began: more than a sale has. */
const MOST_OF_SALE = 200;
const ACCEPTED = 'sale acknowledged' satisfies AuditAction;

/** Reports each sentence of a kind and sale once until both agree again; each repair is a line of its own. */
export async function noteMismatch(ports: Ports, mismatch: Mismatch, repaired = false): Promise<void> {
  const { kind, legacy_id, merchant_id, order_id, what, unit, amount_minor } = mismatch;
  const subject = legacy_id ?? order_id ?? merchant_id;
  const reason = encoded(what);
  const detail = { merchant: merchant_id, unit, order_id, repaired, ...defined({ amount_minor }) };
  let is_news = repaired;
  await noteOnce(ports, subject, async () => {
    // What was accepted since is no news either.
    is_news = repaired || (await standingOf(ports, kind, subject))?.sentences.has(reason) !== true;
    return is_news ? { at: ports.clock.now(), who: BY_ITSELF, action: `mismatch ${kind}`, reason, detail } : null;
  });
  if (is_news && !repaired)
    ports.log.error(`reconciliation: ${what.text}`, {
      merchant: merchant_id,
      legacy_id: legacy_id ?? '',
      action: kind,
    });
}

/** The sentences of the payments API, which no comparison with an order can take back. */
const OF_PAYMENTS: readonly (string | undefined)[] = [
  'contradiction.merchant',
  'contradiction.reference',
  'contradiction.refund',
];
const isOfPayments = (reason: string): boolean => OF_PAYMENTS.includes(readStored(reason).said?.code);

/** A sale that agrees with its order again: its open mismatches get a line that says so. */
export async function noteAgreement(ports: Ports, { merchant_id, legacy_id, order_id, unit }: Link): Promise<void> {
  const about = { merchant_id, legacy_id, order_id, unit, what: say('mismatch.agrees', {}), repair: 'none' } as const;
  for (const kind of mismatchKinds) {
    const standing = await standingOf(ports, kind, legacy_id);
    if (standing === null || [...standing.sentences].some(isOfPayments)) continue;
    await noteMismatch(ports, { ...about, kind }, true);
  }
}

function isRepaired({ detail }: Pick<AuditLine, 'detail'>): boolean {
  return detail.repaired === true;
}

/**
 * Whether the sale of a newest line agrees with upstream without a line that says so: its link has the order of an
 * orphan, or of a create without one, by now. @param link null when it is not stored.
 */
export function hasItsOrder({ kind, order_id }: { kind: MismatchKind; order_id: unknown }, link: Link | null): boolean {
  if (link === null) return false;
  if (kind === 'orphan') return link.order_id === order_id;
  return kind === 'missing' && order_id === null && link.order_id !== null;
}

// A disagreement that stands: the newest line of a kind and sale, if nothing has repaired it. Upstream may be seen to
// repeat it, for instance after a restart, and two of one kind may take turns: it began when its newest sentence was new.

/** A line is read after the older ones of its kind and sale. @returns what stands then; null: nothing. */
function withLine(earlier: Standing | null, line: AuditLine): Standing | null {
  if (isRepaired(line)) return null;
  const { sentences, began } = earlier ?? { sentences: new Set<string>(), began: 0 };
  const is_new = !sentences.delete(line.reason); // and its place is that of its newest line
  return { last: line, sentences: sentences.add(line.reason), began: is_new ? line.sequence : began };
}

/** @param lines of one kind and sale, newest first. */
function standingIn(lines: readonly AuditLine[]): Standing | null {
  return lines.reduceRight<Standing | null>(withLine, null);
}

/** @param before a sequence: lines from it on are not looked at. */
async function standingOf(
  { store }: Ports,
  kind: MismatchKind,
  subject: string,
  before = Number.MAX_SAFE_INTEGER,
): Promise<Standing | null> {
  return standingIn(await store.audit.auditsOf({ subject, action: `mismatch ${kind}`, before }, MOST_OF_SALE));
}

/** Of the kinds that its person saw, and of nothing that was said since. */
function isCovered(kind: MismatchKind, { began }: Standing, acceptance: AuditLine | null): boolean {
  return acceptance !== null && kindsOf(acceptance).includes(kind) && seenIn(acceptance) >= began;
}

/** Sequence of the newest line that its person saw. */
function seenIn({ detail: { expected } }: Pick<AuditLine, 'detail'>): number {
  return typeof expected === 'number' ? expected : 0;
}

function kindsOf({ detail: { kinds } }: Pick<AuditLine, 'detail'>): MismatchKind[] {
  return mismatchKinds.filter((kind) => Array.isArray(kinds) && kinds.includes(kind));
}

/** Whether an acceptance is about what the row of a sale shows and no line names. */
export function covers(acceptance: Pick<AuditLine, 'detail'> | null, kind: UnnamedKind): boolean {
  return acceptance !== null && kindsOf(acceptance).includes(kind);
}

/** `missing`: a lost sale. */
type UnnamedKind = 'missing' | 'approvals';

/** A mismatch that nothing has repaired, whatever its age. */
interface OpenMismatch {
  kind: MismatchKind;
  subject: string;
  merchant_id: string;
  order_id: unknown;
  unit: string | null;
  /** True: a person has accepted it since it began. */
  is_accepted: boolean;
}

export interface StandingMismatches {
  /** Newest first. */
  mismatches: OpenMismatch[];
  /** The newest acceptance by sale. */
  accepted: ReadonlyMap<string, AuditLine>;
}

/** What stands of all merchants: each process keeps it, and reads the lines that were added since its last call. */
export async function standingMismatches({ store, memory }: Ports): Promise<StandingMismatches> {
  // No line is seen before an older one, whichever process wrote it: the next one is written once it is committed.
  const read = (after: number, size: number) => store.audit.auditsAfter(after, size);
  return memory.mutex.run('standing mismatches', async () => {
    if (!(await isInChain(store, memory.disagreements.read_to))) memory.disagreements = createDisagreements();
    const { standing, accepted, read_to } = memory.disagreements;
    const note = (line: AuditLine): void => {
      const { action, subject, sequence, hash } = line;
      memory.disagreements.read_to = { sequence, hash };
      if (action === ACCEPTED) accepted.set(subject, line);
      if (kindIn(action) === undefined) return;
      const key = `${action} ${subject}`;
      const next = withLine(standing.get(key) ?? null, line);
      standing.delete(key); // as above
      if (next !== null) standing.set(key, next);
    };
    for await (const page of pagesOf(read, PAGE, read_to.sequence)) page.forEach(note);
    const newest_first = Map.groupBy(standing.values().toReversed(), ({ last }) => kindIn(last.action));
    const mismatches = mismatchKinds.flatMap((kind) =>
      (newest_first.get(kind) ?? []).map((one): OpenMismatch => {
        const { subject, detail } = one.last;
        const { merchant, order_id = null } = detail;
        const unit = typeof detail.unit === 'string' ? detail.unit : null;
        const is_accepted = isCovered(kind, one, accepted.get(subject) ?? null);
        return { kind, subject, merchant_id: String(merchant), order_id, unit, is_accepted };
      }),
    );
    return { mismatches, accepted: new Map(accepted) };
  });
}

function kindIn(action: string): MismatchKind | undefined {
  return mismatchKinds.find((kind) => action === `mismatch ${kind}`);
}

// Accepted by a person: a disagreement that nobody can repair is named in verdicts, reports and certificates, with
// who, when and why, and blocks them no longer. Any other disagreement of the same sale is open again.

export const acceptAsk = z.strictObject({
  reason,
  expected: z.coerce
    .number()
    .int()
    .min(0)
    .describe('the newest line about it that you saw (`puente sales disagreements`): nothing later is accepted'),
});

export const acceptedView = z.object({
  id: z.string().describe('the legacy id of the sale, or else the order'),
  merchant_id: z.string(),
  order_id: z.string().nullable(),
  kinds: z.array(z.enum(mismatchKinds)).describe('what disagreed; missing also for a lost sale'),
  currency: z.string(),
  amount: z.string().nullable().describe('as the till requested it; null where its sale is not stored'),
  who: z.string(),
  at: time,
  reason: z.string(),
  what: z.string().describe('the same in one sentence'),
  said,
});
export type AcceptedDisagreement = z.infer<typeof acceptedView>;

/**
 * @param subject the legacy id of a sale, or the order that a finding names.
 * @param expected `newest` as the person was shown it (`disagreementsOf`).
 * @throws PuenteError not_found; refused: it agrees with upstream, may still be lost, or was accepted already;
 * conflict: another line about it is newer, of this process or another.
 */
export async function acceptDisagreement(
  ports: Ports,
  subject: string,
  { reason: why, expected }: z.infer<typeof acceptAsk>,
  who: string,
): Promise<AcceptedDisagreement> {
  const { store, clock } = ports;
  // Of two people one is first; and no sale is settled in between.
  return ports.memory.mutex.run(subject, async () => {
    const { merchant, order_id, disagreements, sum, in_the_way } = await stateOf(ports, subject);
    if (in_the_way !== null) throw new PuenteError('refused', in_the_way);
    const kinds = [...new Set(disagreements.map(({ kind }) => kind))];
    const detail = { merchant, order_id, kinds, expected, ...sum };
    const line = { at: clock.now(), who, action: ACCEPTED, subject, reason: why, detail } as const;
    if ((await newestOf(ports, subject)) < expected)
      throw new PuenteError('conflict', say('refusal.audit_moved', { id: subject }));
    await store.audit.appendAudit(line, expected);
    return acceptedFrom(line);
  });
}

/** What a person may accept of a sale; `in_the_way`: why it can't be now. @throws PuenteError not_found. */
async function stateOf(ports: Ports, subject: string) {
  const { store, tables } = ports;
  const id = subject.slice(0, 60);
  const link = await store.links.link(subject);
  const earlier = await acceptanceOf(ports, subject);
  const {
    open,
    disagreements,
    merchant_id,
    order_id,
    amount_minor: minor,
  } = await openOf(ports, subject, link, earlier);
  const merchant = link?.merchant_id ?? merchant_id;
  if (merchant === null) throw new PuenteError('not_found', say('refusal.no_sale', { id }));
  const { currency, exponent } = tables.site((await store.merchants.merchant(merchant))?.site ?? null);
  const sum = { currency, amount: minor === null ? null : decimalOfMinor(BigInt(minor), exponent) };
  const refusal = (): Spoken | null => {
    if (link?.state === 'SENDING' || link?.state === 'IN_DOUBT') return say('refusal.acknowledge_in_doubt', { id });
    if (link?.state === 'LIVE') return say('refusal.acknowledge_live', { id });
    if (open.length > 0) return null;
    if (disagreements.length === 0 || earlier === null) return say('refusal.sale_agrees', { id });
    return say('refusal.acknowledged', { id, who: earlier.who, made_at: iso(earlier.at) });
  };
  return { open, disagreements, merchant, order_id: link?.order_id ?? order_id, sum, in_the_way: refusal() };
}

export const disagreementsView = z.object({
  id: z.string(),
  merchant_id: z.string(),
  order_id: z.string().nullable(),
  disagreements: z.array(
    z.object({ kind: z.enum(mismatchKinds), is_acknowledged: z.boolean(), what: z.string(), said: said.nullable() }),
  ),
  currency: z.string(),
  amount: z.string().nullable().describe('as the till requested it; null where its sale is not stored'),
  newest: z.int().describe('the newest line of the audit trail about it: `expected` of an acceptance'),
  in_the_way: z.string().nullable().describe("why it can't be accepted now, as that nothing disagrees; null: it can"),
  in_the_way_said: said.nullable(),
});

export type Disagreements = z.infer<typeof disagreementsView>;

/** What a person sees before accepting it. @throws PuenteError not_found. */
export async function disagreementsOf(ports: Ports, subject: string): Promise<Disagreements> {
  // Read first: a line that is written meanwhile is not counted as seen.
  const newest = await newestOf(ports, subject);
  const {
    open,
    disagreements: found,
    merchant: merchant_id,
    order_id,
    sum,
    in_the_way,
  } = await stateOf(ports, subject);
  const disagreements = found.map(({ kind, sentence: { text: what, said: what_said } }) => {
    return { kind, is_acknowledged: !open.includes(kind), what, said: what_said };
  });
  const why = { in_the_way: in_the_way?.text ?? null, in_the_way_said: in_the_way?.said ?? null };
  return { id: subject, merchant_id, order_id, disagreements, ...sum, newest, ...why };
}

/** What stands against a sale, each in a sentence; `open`: what is not accepted. */
async function openOf(ports: Ports, subject: string, link: Link | null, earlier: AuditLine | null) {
  const open: MismatchKind[] = [];
  const disagreements: { kind: MismatchKind; sentence: Sentence }[] = [];
  let [merchant_id, order_id] = [null as string | null, null as string | null];
  let amount_minor = link?.amount_minor ?? null;
  for (const kind of mismatchKinds) {
    const standing = await standingOf(ports, kind, subject);
    if (standing === null) continue;
    const { merchant, order_id: order, amount_minor: minor } = standing.last.detail;
    merchant_id = String(merchant);
    if (typeof minor === 'number') amount_minor ??= minor;
    order_id = typeof order === 'string' ? order : order_id;
    if (hasItsOrder({ kind, order_id: order ?? null }, link)) continue;
    disagreements.push(
      ...[...standing.sentences].toReversed().map((reason) => ({ kind, sentence: readStored(reason) })),
    );
    if (!isCovered(kind, standing, earlier)) open.push(kind);
  }
  const shown: Record<UnnamedKind, Sentence | null> = {
    missing: link?.state === 'LOST' ? say('unmatched.lost', {}) : null,
    approvals: link === null ? null : approvalFault(link),
  };
  for (const [kind, sentence] of Object.entries(shown) as [UnnamedKind, Sentence | null][]) {
    if (sentence === null || disagreements.some((one) => one.kind === kind)) continue;
    disagreements.push({ kind, sentence });
    if (!covers(earlier, kind)) open.push(kind);
  }
  return { open, disagreements, merchant_id, order_id, amount_minor };
}

/** The newest acceptance of a sale. */
async function acceptanceOf({ store }: Ports, subject: string): Promise<AuditLine | null> {
  return (await store.audit.auditsOf({ subject, action: ACCEPTED }, 1))[0] ?? null;
}

/**
 * What became of a disagreement that was found: `repaired` once both were seen to agree, else its acceptance; null
 * while it is open.
 * @param found `sequence`: of its newest line in a period.
 */
export async function fateOf(
  ports: Ports,
  { kind, subject, sequence }: { kind: MismatchKind; subject: string; sequence: number },
): Promise<AcceptedDisagreement | 'repaired' | null> {
  const lines = await ports.store.audit.auditsOf({ subject, action: `mismatch ${kind}` }, MOST_OF_SALE);
  const nth = lines.findIndex((line) => line.sequence <= sequence);
  if (lines.slice(0, nth === -1 ? lines.length : nth + 1).some(isRepaired)) return 'repaired';
  const line = await acceptanceOf(ports, subject);
  const standing = nth === -1 ? null : standingIn(lines.slice(nth));
  return line !== null && standing !== null && isCovered(kind, standing, line) ? acceptedFrom(line) : null;
}

/** The acceptance of what the row of a sale shows, whether or not a line names it; null while it is open. */
export async function acceptanceFor(
  ports: Ports,
  subject: string,
  kind: UnnamedKind,
): Promise<AcceptedDisagreement | null> {
  const line = await acceptanceOf(ports, subject);
  if (line === null) return null;
  const standing = await standingOf(ports, kind, subject);
  return (standing === null ? covers(line, kind) : isCovered(kind, standing, line)) ? acceptedFrom(line) : null;
}

/** @param line of an acceptance. */
export function acceptedFrom({
  subject: id,
  who,
  at,
  reason: why,
  detail,
}: Omit<AuditEntry, 'action'>): AcceptedDisagreement {
  const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  const { merchant, order_id, currency, amount } = detail;
  const kinds = kindsOf({ detail });
  const sum = textIn(amount) === null ? null : `${textIn(amount)} ${textIn(currency) ?? ''}`;
  const { text: what, said: what_said } = say('acknowledged', {
    id,
    sum,
    mismatches: kinds,
    who,
    made_at: iso(at),
    reason: why,
  });
  return {
    id,
    merchant_id: textIn(merchant) ?? '',
    order_id: textIn(order_id),
    kinds,
    currency: textIn(currency) ?? '',
    amount: textIn(amount),
    ...{ who, at: iso(at), reason: why, what, said: what_said },
  };
}
