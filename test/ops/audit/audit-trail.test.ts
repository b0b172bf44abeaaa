/** Verification of the whole audit chain: page by page, and against a head stored elsewhere (P16). */
import { describe, expect, it } from 'vitest';
import { verifyAuditStream } from '../../../src/ops/audit.ts';
import { AUDIT_GENESIS, type AuditLine, chainHash } from '../../../src/proxy/audit.ts';

function chainOf(length: number): AuditLine[] {
  const lines: AuditLine[] = [];
  for (let sequence = 1; sequence <= length; sequence += 1) {
    const entry = {
      sequence,
      at: sequence,
      who: 'ana',
      action: 'stage',
      subject: '1',
      reason: `r${sequence}`,
      detail: {},
    };
    lines.push({ ...entry, hash: chainHash(lines.at(-1)?.hash ?? AUDIT_GENESIS, entry) });
  }
  return lines;
}

/** Pages of a chain as a store returns them, and the page sizes requested. */
function paged(lines: AuditLine[]) {
  const asked: number[] = [];
  return {
    asked,
    auditsAfter: async (sequence: number, limit: number) => {
      asked.push(limit);
      return lines.filter((line) => line.sequence > sequence).slice(0, limit);
    },
  };
}

const markOf = ({ sequence, hash }: AuditLine) => ({ sequence, hash });

describe('an intact chain', () => {
  it.each([0, 1, 199, 200, 201, 400, 1234])('of %i lines is read in pages of one size to its end', async (length) => {
    const lines = chainOf(length);
    const store = paged(lines);
    const last = lines.at(-1);
    const head = last === undefined ? null : markOf(last);
    const report = { intact: true, lines: length, head, expected: null, broken: null };
    expect(await verifyAuditStream(store)).toEqual(report);
    expect(new Set(store.asked)).toEqual(new Set([200]));
    if (head !== null) expect(await verifyAuditStream(store, head)).toEqual({ ...report, expected: head });
  });
});

describe('the first broken link is told', () => {
  const lines = chainOf(450);
  it.each<[string, AuditLine[], number, RegExp]>([
    ['a changed first line', lines.with(0, { ...chainOf(1)[0], who: 'eve' } as AuditLine), 1, /line 1 is not what/],
    ['a changed line', lines.map((line) => (line.sequence === 300 ? { ...line, reason: 'x' } : line)), 300, /not what/],
    ['a missing line', lines.filter(({ sequence }) => sequence !== 200), 201, /line 200 is missing/],
    ['a missing beginning', lines.slice(3), 4, /line 1 is missing/],
    [
      'a hash of its own',
      lines.map((line) => (line.sequence === 7 ? { ...line, hash: 'f'.repeat(64) } : line)),
      7,
      /7/,
    ],
  ])('%s', async (_what, told, sequence, reason) => {
    const report = await verifyAuditStream(paged(told));
    expect(report).toMatchObject({ intact: false, broken: { sequence, reason: expect.stringMatching(reason) } });
    expect(report.lines, 'what holds before it').toBe(Math.min(sequence - 1, report.head?.sequence ?? 0));
  });
});

describe('with a head that was noted elsewhere', () => {
  const lines = chainOf(30);
  const noted = markOf(lines[24] as AuditLine); // a chain of thirty has line 25

  it('a cut-off end shows, though what is left is a chain', async () => {
    expect(await verifyAuditStream(paged(lines.slice(0, 20)))).toMatchObject({ intact: true, lines: 20 });
    expect(await verifyAuditStream(paged(lines.slice(0, 20)), noted)).toMatchObject({
      intact: false,
      lines: 20,
      broken: { sequence: 21, reason: expect.stringContaining('lines 21 to 25 are gone') },
    });
    expect(await verifyAuditStream(paged([]), noted)).toMatchObject({ intact: false, broken: { sequence: 1 } });
  });

  it('a chain that was rewritten shows, though every link of it holds', async () => {
    const forged = chainOf(3);
    for (const line of lines.slice(3)) {
      const entry = { ...line, who: 'eve' };
      forged.push({ ...entry, hash: chainHash(forged.at(-1)?.hash ?? '', entry) });
    }
    expect(await verifyAuditStream(paged(forged))).toMatchObject({ intact: true, lines: 30 });
    expect(await verifyAuditStream(paged(forged), noted)).toMatchObject({
      intact: false,
      broken: { sequence: 25, reason: expect.stringContaining('rewritten') },
    });
  });
});
