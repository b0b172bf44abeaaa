/** The operators: they set up the shops, read all views while the load runs, and run the final calls. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Chance } from '../make-capture/chance.ts';
import { sendOrLose } from './till-connection.ts';
import { isOk } from './till-log.ts';

export interface Operators {
  /** A call on the ops door. @throws Error for any other status than 2xx. */
  ask(method: string, path: string, body?: unknown): Promise<unknown>;
  setUp(shop: Routed, notice_url: string): Promise<void>;
  /** Reads views until stopped; returns the reads that were not answered. */
  lookAround(chance: Chance, merchants: readonly [string, ...string[]]): { stop(): Promise<string[]> };
}

interface Routed {
  merchant: string;
  stage: string;
  qr: string;
}

/** Pause between two reads, as of an office full of people. */
const LOOK_EVERY_MS = 500;
/** A fixed period, so reports are as large at the end of a soak as at its start. */
const REPORT_OF_MS = 60_000;

export function startOperators(ops_url: string, token: string): Operators {
  const call = (method: string, path: string, body?: unknown) =>
    sendOrLose(method, ops_url + path, { body, headers: { authorization: `Bearer ${token}` } });
  const ask: Operators['ask'] = async (method, path, body) => {
    const { status, body: said } = await call(method, path, body);
    if (!isOk(status)) throw new Error(`${method} ${path} was answered ${status}: ${JSON.stringify(said)}`);
    return said;
  };
  const revisionOf = async (merchant: string): Promise<number> =>
    (Object(await ask('GET', `/api/merchants/${merchant}`)) as { revision: number }).revision; // every view has one
  return {
    ask,
    async setUp({ merchant, stage, qr }, notice_url) {
      const reason = 'a soak begins';
      const revision = await revisionOf(merchant);
      await ask('PUT', `/api/merchants/${merchant}`, { notice_url, reason, revision, new: true });
      const share = stage === 'canary' ? { share: 50 } : {};
      const move = async (target: object): Promise<unknown> =>
        ask('PUT', `/api/merchants/${merchant}/stage`, { ...target, reason, revision: await revisionOf(merchant) });
      await move({ stage, ...share });
      if (qr !== stage) await move({ stage: qr, kind: 'qr' });
    },
    lookAround(chance, merchants) {
      const stopped = new AbortController();
      const refused: string[] = [];
      const looking = (async () => {
        while (!stopped.signal.aborted) {
          const path = lookOf(chance, merchants);
          const { status } = await call('GET', path);
          // 404 is right before a merchant's first sale.
          if (!isOk(status) && status !== 404) refused.push(`GET ${path} was answered ${status}`);
          await pause(LOOK_EVERY_MS, null, { signal: stopped.signal }).catch(() => undefined);
        }
      })();
      return {
        async stop() {
          stopped.abort();
          await looking;
          return refused;
        },
      };
    },
  };
}

function lookOf(chance: Chance, merchants: readonly [string, ...string[]]): string {
  const merchant = chance.pick(merchants);
  const now = Date.now();
  const period = new URLSearchParams({
    since: new Date(now - REPORT_OF_MS).toISOString(),
    until: new Date(now).toISOString(),
  });
  return chance.pick([
    '/api/merchants',
    '/api/audit',
    '/api/notices?limit=50',
    '/api/unknowns',
    '/api/differences',
    '/api/losses',
    '/api/safety',
    '/readyz',
    '/metrics',
    `/api/merchants/${merchant}`,
    `/api/merchants/${merchant}/drain`,
    `/api/merchants/${merchant}/readiness`,
    `/api/merchants/${merchant}/coverage`,
    `/api/trace?id=Q-${chance.between(1, 200)}&merchant=${merchant}`,
    `/api/report?${period}&format=${chance.pick(['json', 'html'])}`,
  ]);
}
