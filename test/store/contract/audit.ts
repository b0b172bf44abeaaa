/** The audit chain: it can't fork under a race, and a changed, missing or swapped line is detected. */
import { expect, it } from 'vitest';
import { verifyAudit } from '../../ops/audit-chain.ts';
import { auditOf, type Harness, MERCHANT, newMerchant, opened } from './harness.ts';

export function auditTests(harness: Harness): void {
  const { store } = harness;
  it('chains lines that are written at the same moment, without gaps', async () => {
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        store.merchants.saveMerchant(newMerchant({ id: String(index + 1) }), 0, auditOf(`action ${index}`)),
      ),
    );
    const lines = await store.audit.audits(100);
    expect(lines.map((line) => line.sequence)).toEqual(Array.from({ length: 40 }, (_, index) => 40 - index));
    expect(verifyAudit(lines)).toEqual({ intact: true, lines: 40 });
  });

  it('goes on with the chain after a restart and after a refused change', async () => {
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('first'));
    await expect(store.merchants.saveMerchant(newMerchant(), 0, auditOf('refused'))).rejects.toMatchObject({
      code: 'conflict',
    });
    await harness.reopen();
    const link = await opened(store);
    await store.links.saveLink(
      link,
      { state: 'LOST' },
      { audit: auditOf('link.lost', { before: 'SENDING', after: 'LOST' }) },
    );
    const lines = await store.audit.audits(10);
    expect(lines.map((line) => line.action)).toEqual(['link.lost', 'first']);
    expect(lines[0]?.detail).toEqual({ before: 'SENDING', after: 'LOST' });
    expect(verifyAudit(lines)).toEqual({ intact: true, lines: 2 });
  });

  it('writes several lines of one change in their order, and none of a refused one', async () => {
    const link = await opened(store);
    const audit = ['settle', 'mismatch approvals', 'settle'].map((action) => auditOf(action));
    const saved = await store.links.saveLink(link, { attempts: 1 }, { audit });
    await expect(store.links.saveLink(link, { attempts: 2 }, { audit })).rejects.toMatchObject({ code: 'conflict' });
    await store.links.saveLink(saved, { attempts: 3 }, { audit: [] });
    const lines = await store.audit.audits(10);
    expect(lines.map(({ action }) => action)).toEqual(['settle', 'mismatch approvals', 'settle']);
    expect(verifyAudit(lines)).toEqual({ intact: true, lines: 3 });
  });

  it('refuses a line that rests on an older one of its subject, and writes one of two at once', async () => {
    const { appendAudit, audits } = store.audit;
    await appendAudit(auditOf('stage'), 0);
    const ends = await Promise.allSettled([1, 1, 1].map((seen) => appendAudit(auditOf('settle'), seen)));
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
    await expect(appendAudit(auditOf('settle'), 0)).rejects.toMatchObject({ code: 'conflict' });
    await appendAudit({ ...auditOf('settle'), subject: 'another' }, 0);
    expect(verifyAudit(await audits(10))).toEqual({ intact: true, lines: 3 });
  });

  it('hashes a detail as it will be read back', async () => {
    const detail = { z: 1, a: { y: undefined, when: new Date(0), list: [undefined, 2], text: 'ñ "quoted"' } };
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('first', detail));
    const lines = await store.audit.audits(10);
    const list = [null, 2];
    expect(lines[0]?.detail).toEqual({ z: 1, a: { when: '1970-01-01T00:00:00.000Z', list, text: 'ñ "quoted"' } });
    expect(verifyAudit(lines)).toEqual({ intact: true, lines: 1 });
  });

  it.each(['half a pair \ud800', '\udc00', 'ends\0here', '\ufdd0 \ufdd00', '😀'])(
    'hashes the text %j as it will be read back, wherever it stands',
    async (text) => {
      await store.audit.appendAudit({
        ...auditOf('first', { text, [text]: 1 }),
        who: text,
        subject: text,
        reason: text,
      });
      await harness.reopen();
      const lines = await harness.store.audit.audits(10);
      const read = text.toWellFormed();
      expect(lines).toMatchObject([{ who: read, subject: read, reason: read }]);
      expect(verifyAudit(lines)).toEqual({ intact: true, lines: 1 });
    },
  );

  it('shows a changed, a missing and a swapped line', async () => {
    for (const revision of [0, 1, 2, 3]) {
      await store.merchants.saveMerchant(newMerchant(), revision, auditOf(`change ${revision}`));
    }
    const lines = await store.audit.audits(10);
    expect(verifyAudit(lines)).toEqual({ intact: true, lines: 4 });
    expect(verifyAudit(lines.slice(0, 2))).toEqual({ intact: true, lines: 2 });
    const changed = lines.map((line) => (line.sequence === 2 ? { ...line, who: 'eve' } : line));
    expect(verifyAudit(changed)).toMatchObject({ intact: false, sequence: 2 });
    const first = lines.map((line) => (line.sequence === 1 ? { ...line, subject: `${MERCHANT}0` } : line));
    expect(verifyAudit(first)).toMatchObject({ intact: false, sequence: 1 });
    const missing = lines.filter((line) => line.sequence !== 3);
    expect(verifyAudit(missing)).toMatchObject({ intact: false, sequence: 4 });
    const swapped = lines.map((line) => ({
      ...line,
      sequence: line.sequence === 2 ? 3 : line.sequence === 3 ? 2 : line.sequence,
    }));
    expect(verifyAudit(swapped)).toMatchObject({ intact: false, sequence: 2 });
  });
}
