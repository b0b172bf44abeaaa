/** One QR till script per family on the legacy API and through Puente: till and receiver see the same. */
import { beforeAll, describe, expect, test } from 'vitest';
import { commonChapters, tillChapters } from './qr-chapters.ts';
import { refusalChapters } from './qr-refusals.ts';
import { argentina, dynamic, hybrid, type QrFamily, type QrSite, qrFamilies, qrSites, v1, v2 } from './qr-sales.ts';
import { newQrTill, type QrStep } from './qr-till-script.ts';
import { inEachQrWay } from './qr-worlds.ts';
import type { Transcript } from './till-script.ts';
import type { Way } from './worlds.ts';

/** The nightly proof runs every site, and one family per kind of answer on each. */
const NIGHT = process.env.NIGHT === '1';
/** Sites differ by currency and decimals. */
const sites = NIGHT ? qrSites : qrSites.filter((site) => site === argentina || site.currency === 'CLP');
/** All families on one site; on the others one of each kind of body. */
const familiesOf = (site: QrSite): readonly QrFamily[] =>
  site === argentina ? qrFamilies : NIGHT ? [v1, v2, hybrid, dynamic] : [v1, v2];
/** Refusals differ only by the decimals of the currency. */
const refusalsOf = (site: QrSite): Record<string, QrStep[]> =>
  site === argentina || site.currency === 'CLP' ? refusalChapters(site) : {};

/** What is proxied does not depend on the site; the nightly proof shows it on each. */
const waysOf = (site: QrSite): readonly Way[] =>
  NIGHT || site === argentina ? ['direct', 'proxied', 'orders'] : ['direct', 'orders'];

/** Each step takes less than a second, but three worlds start one after the other. */
const LIMIT_MS = 600_000;

describe.each(sites)('$name', (site) => {
  const scripts: Record<string, QrStep[]> = {};
  for (const family of familiesOf(site)) {
    const chapters = { ...commonChapters, ...(family.on_till ? tillChapters : {}) };
    for (const [name, steps] of Object.entries(chapters)) {
      const reference = `INV-${Object.keys(scripts).length + 1}`;
      const script = steps({ family, site, reference });
      if (script.length > 0) scripts[`${family.name}: ${name}`] = script;
    }
  }
  Object.assign(scripts, refusalsOf(site));
  const ways = waysOf(site);
  let told: Record<Way, { transcripts: Record<string, Transcript>; received: number }>;

  beforeAll(async () => {
    told = await inEachQrWay({ merchant: site.merchant }, ways, async (world) => {
      const till = newQrTill(world);
      const transcripts: Record<string, Transcript> = {};
      for (const [name, steps] of Object.entries(scripts)) transcripts[name] = await till.run(steps);
      await world.bench.sandbox.world.settled();
      return { transcripts, received: world.receiver.received.length };
    });
  }, LIMIT_MS);

  test.each(Object.keys(scripts))('%s', (name) => {
    expect(told.direct.transcripts[name]?.length).toBeGreaterThan(0);
    for (const way of ways) expect(told[way].transcripts[name], way).toEqual(told.direct.transcripts[name]);
  });

  test('nothing else was announced', () => {
    for (const way of ways) expect(told[way].received, way).toBe(told.direct.received);
  });
});
