/** The loops that work when nobody is waiting: notices, events, links. */
import type { Config } from '../config.ts';
import type { Runtime } from '../core/runtime.ts';
import { Secret } from '../core/secret.ts';
import type { Metrics } from '../http/metrics.ts';
import { startCompleter } from '../outbound/completer.ts';
import type { OutboundPolicy } from '../outbound/guard.ts';
import { type NotifierParts, startNotifier } from '../outbound/notifier.ts';
import { startReconciler } from '../outbound/reconciler.ts';
import { createSender } from '../outbound/sender.ts';

export interface Work {
  /** Notices were committed: deliver them now. */
  notices(): void;
  /** Events were committed: read their orders now. */
  events(): void;
  stop(): Promise<void>;
}

export function startWork(runtime: Runtime, config: Config, metrics: Metrics, policy: OutboundPolicy): Work {
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
    receiver: (merchant_id) => receiverOf(runtime, merchant_id),
    onAttempt: noteAttempt(runtime, metrics),
    onFault: (error) =>
      runtime.log.error('notifier failed', { cause: error instanceof Error ? error.message : 'unknown' }),
  });
  const events = startReconciler(runtime, config.reconcile.concurrency);
  const links = startCompleter(runtime, config.reconcile.concurrency);
  return {
    notices: notifier.wake,
    events: events.wake,
    async stop() {
      await Promise.all([notifier.stop(), events.stop(), links.stop()]);
      await sender.close();
    },
  };
}

/** Where a merchant's notices go now, and how they are signed. */
async function receiverOf(runtime: Runtime, merchant_id: string): ReturnType<NotifierParts['receiver']> {
  const merchant = await runtime.store.merchant(merchant_id);
  const sealed = merchant?.sealed_notice_secret ?? null;
  return {
    url: merchant?.settings.notice_url ?? runtime.settings.merchants.notice_url,
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
