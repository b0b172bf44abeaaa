/** Refunds: a row before the call, one in flight per payment, and no change on an old revision. */
import { expect, it } from 'vitest';
import type { Attempt, Notice } from '../../../src/proxy/records/notices.ts';
import type { Refund } from '../../../src/proxy/records/refunds.ts';
import { finished, type Harness, NOON, newNotice, newRefund } from './harness.ts';

const HOUR_MS = 3_600_000;

const underWay: readonly Refund['state'][] = ['SENDING', 'IN_DOUBT'];
function newUnlessUnderWay(earlier: Refund[]): Refund | 'open' {
  return earlier.find((one) => underWay.includes(one.state)) ?? 'open';
}

export function refundTests(harness: Harness): void {
  const { store } = harness;
  itKeepsRevisions(harness);

  it('writes the row as it was given, and keeps it through a restart', async () => {
    const link = await finished(store);
    const refund = newRefund(link, { client_key: 'keyed', amount_minor: null, refunded_before_minor: 250 });
    expect(await store.refunds.openRefund(refund, () => 'open')).toEqual({ opened: true, refund });
    expect(await store.refunds.refunds(link.legacy_id)).toEqual([refund]);
    expect(await (await harness.reopen()).refunds.refunds(link.legacy_id)).toEqual([refund]);
  });

  it('shows the decision every earlier refund of the link, oldest first, and none of another', async () => {
    const link = await finished(store);
    const other = await finished(store);
    const late = await done(harness, newRefund(link, { created_at: NOON + 1 }));
    const early = await done(harness, newRefund(link, { created_at: NOON }));
    await done(harness, newRefund(other));
    let shown: Refund[] = [];
    await store.refunds.openRefund(newRefund(link, { created_at: NOON + 2 }), (earlier) => {
      shown = earlier;
      return 'open';
    });
    expect(shown).toEqual([early, late]);
    expect(await store.refunds.refunds(other.legacy_id)).toHaveLength(1);
  });

  it('writes nothing when an earlier one is recognised', async () => {
    const link = await finished(store);
    const first = await done(harness, newRefund(link));
    const result = await store.refunds.openRefund(newRefund(link), ([earlier]) => earlier ?? 'open');
    expect(result).toEqual({ opened: false, refund: first });
    expect(await store.refunds.refunds(link.legacy_id)).toEqual([first]);
  });

  it('gives one whose number is another one’s the next free number', async () => {
    const first = await done(harness, newRefund(await finished(store)));
    const link = await finished(store);
    const { opened, refund } = await store.refunds.openRefund(newRefund(link, { number: first.number }), () => 'open');
    expect([opened, refund.number]).toEqual([true, first.number + 1]);
    expect(await store.refunds.refunds(link.legacy_id)).toEqual([refund]);
  });

  it('lets one of ten that race open, and shows it to the others', async () => {
    const link = await finished(store);
    const results = await Promise.all(
      Array.from({ length: 10 }, () => store.refunds.openRefund(newRefund(link), newUnlessUnderWay)),
    );
    expect(results.filter((result) => result.opened)).toHaveLength(1);
    expect(new Set(results.map((result) => result.refund.id)).size).toBe(1);
    expect(await store.refunds.refunds(link.legacy_id)).toHaveLength(1);
  });

  it.each(underWay)('refuses a second one beside one that is %s, even if the decision is wrong', async (state) => {
    const link = await finished(store);
    const { refund } = await store.refunds.openRefund(newRefund(link), () => 'open');
    const first = await store.refunds.saveRefund(refund, { state });
    await expect(store.refunds.openRefund(newRefund(link), () => 'open')).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.refunds.refunds(link.legacy_id)).toEqual([first]);
  });

  it.each(['DONE', 'REFUSED', 'NOT_SENT'] as const)('opens another one after one that is %s', async (state) => {
    const link = await finished(store);
    const { refund } = await store.refunds.openRefund(newRefund(link), () => 'open');
    await store.refunds.saveRefund(refund, { state });
    expect(await store.refunds.openRefund(newRefund(link), newUnlessUnderWay)).toMatchObject({ opened: true });
    expect(await store.refunds.refunds(link.legacy_id)).toHaveLength(2);
  });

  it('refuses an id and a link that can not be', async () => {
    const link = await finished(store);
    const first = await done(harness, newRefund(link));
    const wrong = [newRefund(link, { id: first.id }), newRefund({ ...link, legacy_id: 'nobody' })];
    for (const refund of wrong) {
      await expect(store.refunds.openRefund(refund, () => 'open')).rejects.toMatchObject({ code: 'conflict' });
    }
    expect(await store.refunds.refunds(link.legacy_id)).toEqual([first]);
  });
}

function itKeepsRevisions(harness: Harness): void {
  const { store } = harness;
  it('changes what is named, raises the revision, and keeps the rest', async () => {
    const link = await finished(store);
    const { refund } = await store.refunds.openRefund(newRefund(link), () => 'open');
    const change = { state: 'DONE', upstream_id: 'REF01', reference_id: '20001', refunded_minor: 750 } as const;
    const told = { upstream_status: 'processed', answered_at: NOON + 2, updated_at: NOON + 1 };
    const saved = await store.refunds.saveRefund(refund, { ...change, ...told });
    expect(saved).toEqual({ ...refund, ...change, ...told, revision: 2 });
    expect(await store.refunds.refunds(link.legacy_id)).toEqual([saved]);
  });

  it('refuses a change on an old revision and changes nothing', async () => {
    const link = await finished(store);
    const { refund } = await store.refunds.openRefund(newRefund(link), () => 'open');
    const saved = await store.refunds.saveRefund(refund, { state: 'IN_DOUBT' });
    await expect(store.refunds.saveRefund(refund, { state: 'NOT_SENT' })).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.refunds.refunds(link.legacy_id)).toEqual([saved]);
  });

  it('lets one of ten changes of one revision through', async () => {
    const link = await finished(store);
    const { refund } = await store.refunds.openRefund(newRefund(link), () => 'open');
    const changes = Array.from({ length: 10 }, (_, index) =>
      store.refunds.saveRefund(refund, { refunded_minor: index }),
    );
    const won = (await Promise.allSettled(changes)).filter((result) => result.status === 'fulfilled');
    expect(won).toHaveLength(1);
    expect(await store.refunds.refunds(link.legacy_id)).toEqual([won[0]?.value]);
  });

  it('knows one that was answered and whose later notice was acknowledged, whichever of the two is stored first', async () => {
    const attempt = {
      at: NOON + 7,
      duration_ms: 1,
      status: 200,
      detail: '',
      url: 'https://shop.example/',
      outcome: 'delivered',
    };
    const knownOf = async (
      order: readonly ('answered' | 'acknowledged' | 'both')[],
      { notice_at = NOON + 1, since = NOON + 8 } = {},
    ) => {
      const link = await finished(store);
      const made = await done(harness, newRefund(link, { created_at: NOON }));
      await store.links.saveLink(link, {}, { notices: [newNotice(link, 'refunded', { created_at: notice_at })] });
      const [due] = (await store.notices.dueNotices(NOON + HOUR_MS, 1_000)).filter(
        ({ legacy_id }) => legacy_id === link.legacy_id,
      );
      const steps = {
        answered: () => store.refunds.saveAnswered(made, NOON + 9, since),
        acknowledged: () =>
          store.notices.recordAttempt(due as Notice, attempt as Attempt, { state: 'delivered', next_attempt_at: NOON }),
        both: () => Promise.all([steps.answered(), steps.acknowledged()]),
      };
      for (const step of order) await steps[step]();
      return (await store.refunds.refunds(link.legacy_id)).map(({ known_at }) => known_at);
    };
    expect(await knownOf(['answered', 'acknowledged'])).toEqual([NOON + 7]);
    expect(await knownOf(['acknowledged', 'answered'])).toEqual([NOON + 9]);
    for (let race = 0; race < 10; race++) expect(await knownOf(['both'])).toEqual([expect.any(Number)]);
    expect(await knownOf(['acknowledged'])).toEqual([null]);
    expect(await knownOf(['answered'])).toEqual([null]);
    // A notice of before says nothing of the refund.
    expect(await knownOf(['acknowledged', 'answered'], { notice_at: NOON })).toEqual([null]);
    expect(await knownOf(['answered', 'acknowledged'], { notice_at: NOON })).toEqual([null]);
    // An acknowledgement of before the refund was made, or its repeat arrived, says nothing of this answer.
    expect(await knownOf(['acknowledged', 'answered'], { since: NOON + 9 })).toEqual([null]);
  });

  it('refuses to take one up again while another is under way', async () => {
    const link = await finished(store);
    const first = await done(harness, newRefund(link));
    await store.refunds.openRefund(newRefund(link), () => 'open');
    await expect(store.refunds.saveRefund(first, { state: 'IN_DOUBT' })).rejects.toMatchObject({ code: 'conflict' });
  });
}

async function done(harness: Harness, refund: Refund): Promise<Refund> {
  const { store } = harness;
  await store.refunds.openRefund(refund, () => 'open');
  return store.refunds.saveRefund(refund, { state: 'DONE', refunded_minor: refund.amount_minor });
}
