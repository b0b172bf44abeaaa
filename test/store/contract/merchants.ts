/** Merchants with their settings, and the tokens that upstream has accepted. */
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type AcceptedToken, merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { auditOf, DAY_MS, type Harness, MERCHANT, NOON, newMerchant, newSale, OTHER_MERCHANT } from './harness.ts';

export function merchantTests(harness: Harness): void {
  const { store } = harness;
  itKeepsTokens(harness);
  itFindsMerchantsWithTokens(harness);

  it('knows nobody at first', async () => {
    expect(await store.merchants.merchant(MERCHANT)).toBeNull();
    expect(await store.merchants.merchants()).toEqual([]);
  });

  it('writes a new merchant and its audit line, and keeps both through a restart', async () => {
    const merchant = newMerchant();
    const saved = await store.merchants.saveMerchant(merchant, 0, auditOf('merchant.changed'));
    expect(saved).toMatchObject({ ...merchant, revision: 1 });
    await harness.reopen();
    expect(await store.merchants.merchant(MERCHANT)).toEqual(saved);
    expect(await store.merchants.merchants()).toEqual([saved]);
    expect(await store.audit.audits(10)).toMatchObject([{ sequence: 1, action: 'merchant.changed', who: 'ana' }]);
  });

  it('changes a merchant only from the revision that was read', async () => {
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('first'));
    const settings = merchantSettings.parse({ stage: 'legacy' });
    const changed = await store.merchants.saveMerchant(
      newMerchant({ settings, sealed_notice_url: null, sealed_notice_secret: null }),
      1,
      auditOf('second'),
    );
    expect(changed).toMatchObject({ settings, revision: 2, sealed_notice_url: null, sealed_notice_secret: null });
    for (const revision of [0, 1, 3]) {
      const late = store.merchants.saveMerchant(newMerchant(), revision, auditOf('late'));
      await expect(late).rejects.toMatchObject({ code: 'conflict' });
    }
    expect(await store.merchants.merchant(MERCHANT)).toEqual(changed);
    expect((await store.audit.audits(10)).map((line) => line.action)).toEqual(['second', 'first']);
  });

  it('keeps every sealed value in its own place, bytes as they are', async () => {
    const bytes = (first: number) => new Uint8Array([first, 0, 255, 128]);
    const merchant = newMerchant({
      sealed_notice_url: bytes(1),
      sealed_notice_secret: bytes(2),
      sealed_credential: bytes(3),
    });
    await store.merchants.saveMerchant(merchant, 0, auditOf('made'));
    const changed = { ...merchant, sealed_notice_url: bytes(4), sealed_credential: null };
    await store.merchants.saveMerchant(changed, 1, auditOf('changed'));
    await harness.reopen();
    expect(await store.merchants.merchant(MERCHANT)).toMatchObject(changed);
  });

  it('still reads a URL that an older build kept in its settings', async () => {
    const settings = merchantSettings.parse({ notice_url: 'https://pos.example/ipn' });
    await store.merchants.saveMerchant(newMerchant({ settings, sealed_notice_url: null }), 0, auditOf('older'));
    await harness.reopen();
    expect(await store.merchants.merchant(MERCHANT)).toMatchObject({ settings, sealed_notice_url: null });
  });

  it('still reads a policy by its earlier word', async () => {
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    await harness.sql(`UPDATE merchants SET settings = '{"unknown_endpoint":"carry","unknown_field":"note"}'`);
    const { merchants } = await harness.reopen();
    const settings = { unknown_endpoint: 'allow', unknown_field: 'note', unknown_header: null };
    expect(await merchants.merchant(MERCHANT)).toMatchObject({ settings });
  });

  it('reads what a newer process wrote, and keeps the settings that only that one knows', async () => {
    const settings = { newest: 'drop', stage: 'shadow', kinds: { qr: { stage: 'orders', share: 0, newest: 9 } } };
    const window = { id: 'w', from: 1, until: 2, reason: 'why', newest: true };
    await store.merchants.saveMerchant(newMerchant(), 0, auditOf('made'));
    await harness.sql(`UPDATE merchants SET settings = '${JSON.stringify({ ...settings, brownouts: [window] })}'`);
    const { merchants } = await harness.reopen();
    const [read] = await merchants.merchants();
    const { newest: _newest, ...known } = window;
    const brownouts = [{ ...known, aborted_at: null }];
    const expected = merchantSettings.parse({ stage: 'shadow', kinds: { qr: { stage: 'orders' } }, brownouts });
    expect(read?.settings).toEqual(expected);
    expect(await merchants.merchant(MERCHANT)).toEqual(read);
    const changed = { ...read, ...newMerchant(), settings: { ...expected, stage: 'canary', share: 5 } } as const;
    await merchants.saveMerchant(changed, 1, auditOf('changed'));
    // As a version that knows them would read them.
    await harness.sql(
      `UPDATE merchants SET settings = replace(replace(settings, '"newest":"', '"voucher":"'), '"newest":9', '"share":9')`,
    );
    expect(changed.settings.kinds).toEqual({ qr: { stage: 'orders', share: 0 } });
    const kinds = { qr: { stage: 'orders', share: 9 } };
    expect(await (await harness.reopen()).merchants.merchant(MERCHANT)).toMatchObject({
      revision: 2,
      settings: { ...changed.settings, voucher: 'drop', kinds },
    });
  });

  it('writes no setting that is unset: an older process may not know it', async () => {
    const settings = merchantSettings.parse({ stage: 'shadow' });
    await store.merchants.saveMerchant(newMerchant({ settings }), 0, auditOf('made'));
    await store.merchants.acceptToken(newToken('a', { merchant_id: OTHER_MERCHANT }), 'MLA');
    await harness.sql(`UPDATE merchants SET site = 'seen' WHERE settings = '{"stage":"shadow"}' OR settings = '{}'`);
    expect(await (await harness.reopen()).merchants.merchants()).toMatchObject([
      { id: MERCHANT, site: 'seen', settings },
      { id: OTHER_MERCHANT, site: 'seen', settings: merchantSettings.parse({}) },
    ]);
  });

  it('lets one of ten operators through', async () => {
    const all = Array.from({ length: 10 }, () => store.merchants.saveMerchant(newMerchant(), 0, auditOf('race')));
    const results = await Promise.allSettled(all);
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    expect(await store.audit.audits(100)).toHaveLength(1);
  });
}

function itKeepsTokens(harness: Harness): void {
  const { store } = harness;
  it('remembers an accepted token and meets its merchant, all settings default', async () => {
    const token = newToken('a');
    await store.merchants.acceptToken(token, 'MLA');
    await harness.reopen();
    expect(await store.merchants.token('a')).toEqual(token);
    expect(await store.merchants.token('b')).toBeNull();
    const settings = merchantSettings.parse({});
    expect(await store.merchants.merchant(MERCHANT)).toMatchObject({
      id: MERCHANT,
      site: 'MLA',
      settings,
      revision: 1,
    });
  });

  it('leaves the settings of a merchant it knows, and learns a missing site', async () => {
    await store.merchants.acceptToken(newToken('a'), null);
    await store.merchants.acceptToken(newToken('a'), 'MLA');
    const met = await store.merchants.merchant(MERCHANT);
    expect(met?.site).toBe('MLA');
    const saved = await store.merchants.saveMerchant(newMerchant(), met?.revision ?? 0, auditOf('merchant.changed'));
    await store.merchants.acceptToken(newToken('b'), 'MLB');
    await store.merchants.acceptToken(newToken('c'), null);
    expect(await store.merchants.merchant(MERCHANT)).toEqual(saved);
  });

  it('gives the token of a merchant that was seen last, whatever its acceptance', async () => {
    expect(await store.merchants.latestToken(MERCHANT)).toBeNull();
    await store.merchants.acceptToken(newToken('a', { seen_at: NOON }), 'MLA');
    await store.merchants.acceptToken(newToken('b', { seen_at: NOON + 1, accepted_until: NOON - DAY_MS }), 'MLA');
    await store.merchants.acceptToken(newToken('c', { seen_at: NOON + 2, merchant_id: OTHER_MERCHANT }), 'MLB');
    expect((await store.merchants.latestToken(MERCHANT))?.fingerprint).toBe('b');
    const renewed = newToken('a', { seen_at: NOON + 3, sealed_token: new Uint8Array([4, 4]) });
    await store.merchants.acceptToken(renewed, 'MLA');
    expect(await store.merchants.latestToken(MERCHANT)).toEqual(renewed);
  });

  it('gives a token that the upstream refused only when there is no other', async () => {
    await store.merchants.acceptToken(newToken('refused', { seen_at: NOON + 5, accepted_until: 0 }), 'MLA');
    expect((await store.merchants.latestToken(MERCHANT))?.fingerprint).toBe('refused');
    await store.merchants.acceptToken(newToken('older', { seen_at: NOON }), 'MLA');
    expect((await store.merchants.latestToken(MERCHANT))?.fingerprint).toBe('older');
  });

  it('forgets a token and does not mind one it never knew', async () => {
    await store.merchants.acceptToken(newToken('a'), 'MLA');
    await store.merchants.forgetToken('a');
    await store.merchants.forgetToken('a');
    expect(await store.merchants.token('a')).toBeNull();
    expect(await store.merchants.latestToken(MERCHANT)).toBeNull();
  });
}

function itFindsMerchantsWithTokens(harness: Harness): void {
  const { store } = harness;
  it('gives a merchant with what is known of a token: nothing where it is not its own', async () => {
    expect(await store.merchants.merchantWithToken(MERCHANT, 'a', null)).toBeNull();
    await store.merchants.acceptToken(newToken('a', { accepted_until: NOON + 7 }), 'MLA');
    await store.merchants.acceptToken(newToken('c', { merchant_id: OTHER_MERCHANT }), 'MLB');
    const merchant = await store.merchants.merchant(MERCHANT);
    const withToken = (fingerprint: string) => store.merchants.merchantWithToken(MERCHANT, fingerprint, null);
    expect(await withToken('a')).toEqual({ merchant, accepted_until: NOON + 7, is_free: false });
    expect(await withToken('b')).toEqual({ merchant, accepted_until: null, is_free: false });
    expect(await withToken('c')).toEqual({ merchant, accepted_until: null, is_free: false });
    await store.merchants.acceptToken(newToken('a', { accepted_until: 0 }), null);
    expect(await withToken('a')).toEqual({ merchant, accepted_until: 0, is_free: false });
    await store.merchants.forgetToken('a');
    expect(await withToken('a')).toEqual({ merchant, accepted_until: null, is_free: false });
  });

  it('says of a unit that legacy holds nothing of it only where that is so', async () => {
    await store.merchants.acceptToken(newToken('a'), 'MLA');
    const { slot, ...sale } = newSale();
    if (slot === null) throw new Error('the sale has no unit');
    const isFree = async (): Promise<boolean | undefined> =>
      (await store.merchants.merchantWithToken(MERCHANT, 'a', { slot, now: NOON }))?.is_free;
    expect(await isFree()).toBe(harness.tells_free);
    await store.legacy_sales.openLegacySale({ ...sale, slot });
    expect(await isFree()).toBe(false);
    await store.legacy_sales.saveLegacySale(sale.id, { state: 'ENDED' });
    expect(await isFree()).toBe(harness.tells_free);
    expect((await store.merchants.merchantWithToken(MERCHANT, 'a', null))?.is_free).toBe(false);
  });

  it('gives the merchant of an accepted token with its site, whenever it is asked', async () => {
    for (let id = 799_000_001; id <= 799_000_020; id++) {
      const [merchant_id, fingerprint] = [String(id), `token of ${id}`];
      await store.merchants.acceptToken(newToken(`earlier ${fingerprint}`, { merchant_id }), null);
      const accepting = store.merchants.acceptToken(newToken(fingerprint, { merchant_id }), 'MLC');
      const looks = [store.merchants.merchantWithToken(merchant_id, fingerprint, null)];
      for (let look = 0; look < 10; look++) {
        await setImmediate();
        looks.push(store.merchants.merchantWithToken(merchant_id, fingerprint, null));
      }
      await accepting;
      const seen = (await Promise.all(looks)).filter((one) => one?.accepted_until !== null);
      for (const one of seen) expect(one?.merchant.site).toBe('MLC');
      expect((await store.merchants.merchantWithToken(merchant_id, fingerprint, null))?.accepted_until).toBe(
        NOON + DAY_MS,
      );
    }
  });
}

function newToken(fingerprint: string, change: Partial<AcceptedToken> = {}): AcceptedToken {
  return {
    fingerprint,
    merchant_id: MERCHANT,
    sealed_token: new Uint8Array([1, 2, 3]),
    accepted_until: NOON + DAY_MS,
    seen_at: NOON,
    ...change,
  };
}
