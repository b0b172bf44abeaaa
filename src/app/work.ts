/** Starts the background loops: notices, events, links, bulk moves, upkeep, the continuous reconciliation. */
import type { Config } from '../config/config.ts';
import { readStored } from '../locales/message.ts';
import { startBulkMoves } from '../ops/moves/bulk.ts';
import { stepRamp } from '../ops/moves/ramp-steps.ts';
import type { Ports } from '../ops/ports.ts';
import { startJudging } from '../ops/readiness/days.ts';
import { startSweep } from '../ops/reconcile/reconcile.ts';
import { startChores } from '../ops/upkeep/chores.ts';
import { pause } from '../proxy/clock.ts';
import { watchClock } from '../proxy/loop.ts';
import { createSender, type Sender } from '../proxy/notices/delivery.ts';
import type { OutboundPolicy } from '../proxy/notices/guard.ts';
import { type NotifierParts, startNotifier } from '../proxy/notices/notifier.ts';
import { receiverFinder } from '../proxy/notices/request.ts';
import { startCompleter, startInbox } from '../proxy/sales/workers.ts';
import type { Telemetry } from '../proxy/telemetry/port.ts';
import type { Metrics } from '../proxy/telemetry/telemetry.ts';
import { paceUpstream } from '../proxy/upstream/client.ts';
import { backupEvery_ms } from './open-store.ts';

interface Work {
  stop(): Promise<void>;
}

export interface WorkWithSender extends Work {
  /** Of notices; an operator's test goes the same way. */
  sender: Pick<Sender, 'send'>;
}

/** @param public_url for receivers; the public door is open by now, because receivers read from it. */
export function startWork(
  ports: Ports,
  config: Config,
  metrics: Metrics,
  policy: OutboundPolicy,
  public_url: string,
  telemetry: Telemetry | null,
): WorkWithSender {
  const sender = createSender({ policy, userAgent: config.notices.user_agent, timeout_ms: config.notices.timeout_ms });
  const loops = startLoops(ports, config, metrics, sender, public_url, telemetry);
  const { backup, retention, tokens } = config;
  const chores = startChores(ports, {
    backup_every_ms: backupEvery_ms(config),
    backup_keep: backup.keep,
    retention: { ...retention, tokens_ms: tokens.kept_for_ms },
  });
  const judging = startJudging(ports);
  return {
    sender,
    async stop() {
      await Promise.all([loops.stop(), chores.stop(), judging.stop()]);
    },
  };
}

/** The loops with a given sender: a simulation has receivers without sockets. */
export function startLoops(
  ports: Ports,
  config: Config,
  metrics: Pick<Metrics, 'notice'>,
  sender: Sender,
  public_url: string,
  telemetry: Telemetry | null,
): Work {
  const notifier = startNotifier({
    store: ports.store.notices,
    sender: {
      async send(request) {
        const result = await sender.send(request);
        ports.memory.failpoint('notice.sent');
        return result;
      },
    },
    clock: { now: ports.clock.now, sleep: pause },
    random: ports.memory.ids.random,
    horizon_ms: config.notices.horizon_ms,
    concurrency: config.notices.concurrency,
    per_host: config.notices.per_host,
    public_url,
    receiver: receiverFinder(ports),
    onAttempt: noteAttempt(ports, metrics, telemetry),
    onFault: (error, notice) =>
      ports.log.error('notifier failed', {
        ...(notice === undefined ? {} : { legacy_id: notice.legacy_id, merchant: notice.merchant_id }),
        cause: error instanceof Error ? error.message : 'unknown',
      }),
  });
  const { calls_per_second } = config.reconcile;
  const paced = paceUpstream(ports.upstreams.orders, calls_per_second, ports.clock, ports.store.healthy);
  const background: Ports = { ...ports, upstreams: { ...ports.upstreams, orders: paced } };
  const events = startInbox(background, config.reconcile.concurrency, paced.rests, telemetry);
  const links = startCompleter(background, config.reconcile.concurrency, paced.rests, telemetry);
  const bulk_moves = startBulkMoves(ports, stepRamp);
  const { wakeups } = ports.memory;
  wakeups.notices.to(notifier.wake);
  wakeups.events.to(events.wake);
  wakeups.bulk_moves.to(bulk_moves.wake);
  const others = [bulk_moves, startSweep(background, paced.rests), ...watchClock(ports)];
  return {
    async stop() {
      await Promise.all([notifier, events, links, ...others].map((loop) => loop.stop()));
      await sender.close();
    },
  };
}

function noteAttempt(
  ports: Ports,
  metrics: Pick<Metrics, 'notice'>,
  telemetry: Telemetry | null,
): NonNullable<NotifierParts['onAttempt']> {
  return (notice, attempt) => {
    metrics.notice(attempt.outcome);
    telemetry?.noticed(notice, attempt);
    const fields = {
      legacy_id: notice.legacy_id,
      merchant: notice.merchant_id,
      action: attempt.outcome,
      cause: readStored(attempt.detail).text,
    };
    if (attempt.outcome === 'delivered') ports.log.info('notice delivered', fields);
    else ports.log.warn('notice not delivered', fields);
    ports.memory.failpoint('notice.recorded');
  };
}
