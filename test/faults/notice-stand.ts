/** A notifier on a real store filled beforehand, with receivers on real sockets and a clock that stands still. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Store } from '../../src/ops/ports.ts';
import { createSender } from '../../src/proxy/notices/delivery.ts';
import type { OutboundPolicy } from '../../src/proxy/notices/guard.ts';
import { type NotifierParts, startNotifier } from '../../src/proxy/notices/notifier.ts';
import type { Attempt, Notice } from '../../src/proxy/records/notices.ts';
import { Secret } from '../../src/proxy/vault.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { type Backlog, fillBacklog } from './notice-backlog.ts';

const OPEN: OutboundPolicy = { allow_private: true, allow_http: true, ports: [443], own_hosts: [] };
const NOON = Date.UTC(2026, 10, 2, 12);

export interface NoticeStand {
  store: Store;
  urls: Map<string, string | null>;
  /** Epoch ms; changes only when a test sets it. */
  now: number;
  attempts: { notice: Notice; attempt: Attempt }[];
  start(more?: Partial<NotifierParts> & { timeout_ms?: number }): void;
  attempted(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function openNoticeStand(backlogs: readonly Backlog[]): Promise<NoticeStand> {
  const directory = await mkdtemp(join(tmpdir(), 'puente-notices-'));
  const path = join(directory, 'puente.db');
  const options = { path, now: () => stand.now };
  await (await openSqliteStore({ ...options, create: true, now: () => NOON })).close();
  fillBacklog(path, NOON, backlogs);
  const closing: (() => Promise<void>)[] = [];
  const stand: NoticeStand = {
    store: await openSqliteStore({ ...options, create: false, now: () => NOON }),
    urls: new Map(),
    now: NOON,
    attempts: [],
    start({ timeout_ms = 5_000, ...more } = {}) {
      const sender = createSender({ policy: OPEN, userAgent: 'Puente/test', timeout_ms });
      const notifier = startNotifier({
        store: stand.store.notices,
        sender,
        public_url: 'https://puente.test',
        receiver: async ({ merchant_id }) => ({
          url: stand.urls.get(merchant_id) ?? null,
          dialect: 'point_integration_wh',
          secret: new Secret('a secret of the tests'),
        }),
        clock: { now: () => stand.now, sleep: shortSleep },
        random: () => 0.5,
        horizon_ms: null,
        concurrency: 50,
        per_host: 2,
        onAttempt: (notice, attempt) => void stand.attempts.push({ notice, attempt }),
        ...more,
      });
      closing.push(async () => {
        await Promise.all([notifier.stop(), sender.close()]);
      });
    },
    async attempted(count) {
      while (stand.attempts.length < count) await pause(5);
    },
    async close() {
      for (const close of closing) await close();
      await stand.store.close();
      await rm(directory, { recursive: true });
    },
  };
  return stand;
}

/** The clock stands still, so a sleep ends after 20 ms, or at once when aborted. */
async function shortSleep(_duration_ms: number, signal: AbortSignal): Promise<void> {
  await pause(20, undefined, { signal }).catch(() => undefined);
}
