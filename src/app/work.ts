/** The loops that work when nobody is waiting: notices, events, links, bulk moves, the continuous reconciliation. */
import type { Config } from '../config.ts';
import { targetOf } from '../core/notices/target.ts';
import type { Runtime } from '../core/runtime.ts';
import { Secret } from '../core/secret.ts';
import type { Notice } from '../core/store.ts';
import type { Metrics } from '../http/metrics.ts';
import { startBulkMoves } from '../outbound/bulk.ts';
import { startCompleter } from '../outbound/completer.ts';
import type { OutboundPolicy } from '../outbound/guard.ts';
import { type NotifierParts, startNotifier } from '../outbound/notifier.ts';
import { startReconciler } from '../outbound/reconciler.ts';
import { createSender } from '../outbound/sender.ts';
import { startSweep } from '../outbound/sweep.ts';

export interface Work {
  /** Notices were committed: deliver them now. */
  notices(): void;
  /** Events were committed: read their orders now. */
  events(): void;
  stop(): Promise<void>;
}

/** @param public_url how the public door is reached from outside; it is open by now, because receivers read from it. */
export function startWork(
  runtime: Runtime,
  config: Config,
  metrics: Metrics,
  policy: OutboundPolicy,
  public_url: string,
): Work {
  const sender = createSender({ policy, userAgent: config.notices.user_agent, timeout_ms: config.notices.timeout_ms });
  const notifier = startNotifier({
    store: runtime.store,
    sender: {
      async send(request) {
        const result = await sender.send(request);
        runtime.failpoint('notice.sent');
        return result;
      },
    },
    clock: { now: runtime.clock.now, sleep: interruptibleSleep },
    random: runtime.random,
    horizon_ms: config.notices.horizon_ms,
    concurrency: config.notices.concurrency,
    per_host: config.notices.per_host,
    public_url,
    receiver: (notice) => receiverOf(runtime, notice),
    onAttempt: noteAttempt(runtime, metrics),
    onFault: (error) =>
      runtime.log.error('notifier failed', { cause: error instanceof Error ? error.message : 'unknown' }),
  });
  const events = startReconciler(runtime, config.reconcile.concurrency);
  const links = startCompleter(runtime, config.reconcile.concurrency);
  const others = [startBulkMoves(runtime), startSweep(runtime)];
  return {
    notices: notifier.wake,
    events: events.wake,
    async stop() {
      await Promise.all([notifier, events, links, ...others].map((loop) => loop.stop()));
      await sender.close();
    },
  };
}

/** Where a notice goes now, and how it is signed. */
async function receiverOf(runtime: Runtime, notice: Notice): ReturnType<NotifierParts['receiver']> {
  const merchant = await runtime.store.merchant(notice.merchant_id);
  const link = notice.form === 'point' ? null : await runtime.store.link(notice.legacy_id);
  const sealed = merchant?.sealed_notice_secret ?? null;
  return {
    url: targetOf(runtime, link, merchant),
    dialect: merchant?.settings.dialect ?? runtime.settings.merchants.dialect,
    secret: sealed === null ? null : new Secret(runtime.vault.open(sealed, 'notice-secret').toString('utf8')),
  };
}

function noteAttempt(runtime: Runtime, metrics: Metrics): NonNullable<NotifierParts['onAttempt']> {
  return (notice, attempt) => {
    metrics.notice(attempt.outcome);
    const fields = {
      legacy_id: notice.legacy_id,
      merchant: notice.merchant_id,
      action: attempt.outcome,
      cause: attempt.detail,
    };
    if (attempt.outcome === 'delivered') runtime.log.info('notice delivered', fields);
    else runtime.log.warn('notice not delivered', fields);
    runtime.failpoint('notice.recorded');
  };
}

function interruptibleSleep(duration_ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, duration_ms);
    signal.addEventListener('abort', end);
  });
}
