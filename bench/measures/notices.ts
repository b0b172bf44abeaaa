/** Notices: how fast paid sales are told to a receiver of their merchant, over the real notifier with its attempts on disk. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { prepareSales } from '../cases/prepare.ts';
import { PUENTE } from '../contestants/contestants.ts';
import { OPS_TOKEN, startPuente } from '../contestants/puente.ts';
import type { Running } from '../processes.ts';
import { startUpstream } from '../upstream/start.ts';
import { type Check, checkCounts, NOTHING_CREATED } from './checks.ts';
import { files } from './databases.ts';

export interface NoticesResult {
  sales: number;
  /** From the first notice that was taken to the last. */
  took_ms: number;
  per_second: number;
  checks: Check[];
}

/** Enough for a second or two at the notifier's own pace. */
const SALES = 1000;
/** Of a paid sale at a terminal: its intent's and its payment's. */
export const NOTICES_PER_SALE = 2;
const NOTICES = SALES * NOTICES_PER_SALE;
const LIMIT_MS = 120_000;
const LOOK_EVERY_MS = 25;

/**
 * One receiver on one host, which takes two at a time as shipped. Reads of orders are not held at 200 a second here, or
 * that pace would be the only figure.
 */
export async function measureNotices(directory: string): Promise<NoticesResult> {
  const upstream = await startUpstream(directory, null);
  const ground = { upstream: upstream.said, core: null, directory };
  const puente = await startPuente(ground, {
    PUENTE_MERCHANTS_NOTICE_URL: `${upstream.said}/bench/notices`,
    PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
    PUENTE_OUTBOUND_ALLOW_HTTP: 'true',
    PUENTE_RECONCILE_CALLS_PER_SECOND: '10000',
  });
  const [took_ms] = await Promise.all([untilTold(puente, NOTICES, LIMIT_MS), prepareSales(puente.said, 'F', 1, SALES)]);
  await puente.stop();
  await upstream.stop();
  const seen = upstream.seen();
  return {
    sales: SALES,
    took_ms,
    per_second: NOTICES / (took_ms / 1000),
    checks: [
      ...(await checkCounts([PUENTE], files(directory), seen, { ...NOTHING_CREATED, by_puente: SALES })),
      { what: 'notices received', expected: NOTICES, found: seen.notices },
    ],
  };
}

/** From the first notice that was taken to the last of so many, ms. @throws Error with the counts after the limit. */
export async function untilTold(puente: Running, notices: number, limit_ms: number): Promise<number> {
  const ops = /ops door +(http:\/\/\S+)/.exec(readFileSync(puente.log, 'utf8'))?.[1];
  let first = 0;
  for (const limit = Date.now() + limit_ms; ; ) {
    const page = await (await fetch(`${ops}/metrics`, { headers: { authorization: `Bearer ${OPS_TOKEN}` } })).text();
    const taken = Number(/^puente_notice_attempts_total\{outcome="delivered"\} (\d+)/m.exec(page)?.[1] ?? 0);
    if (taken > 0 && first === 0) first = performance.now();
    if (taken >= notices) return performance.now() - first;
    if (Date.now() > limit)
      throw new Error(
        `Only ${taken} of ${notices} notices were taken:\n${page.match(/^puente_(notice|waiting).*/gm)?.join('\n')}`,
      );
    await pause(LOOK_EVERY_MS);
  }
}
