/** Seeded bugs of states, events, notices, cancels, units and ramps. */
import type { BugRow } from './bug.ts';

export const stateBugs: BugRow[] = [
  {
    name: 'ramp forgets a stop that was reset',
    file: 'ops/moves/ramp-steps.ts',
    from: '(stop ?? (await stopSince(ports, item)))',
    to: 'stop',
  },
  {
    name: 'ramp goes up beside a stopped merchant',
    file: 'ops/moves/ramp-steps.ts',
    from: 'if (look.stopped !== null && stop === null) return ramp;',
    to: '',
  },
  {
    name: 'ramp goes up beside faults',
    file: 'ops/moves/ramp-decision.ts',
    from: 'if (!isUntouched(facts)) yield faultsOf(facts, evidence.calls);',
    to: 'if (facts.stop_share < 0) yield faultsOf(facts, evidence.calls);',
  },
  {
    name: 'ramp goes up though orders is slow',
    file: 'ops/moves/ramp-decision.ts',
    from: 'yield latencyOf(facts, evidence.calls);',
    to: 'if (isUntouched(facts)) yield latencyOf(facts, evidence.calls);',
  },
  {
    name: 'ramp goes up beside open findings',
    file: 'ops/moves/ramp-decision.ts',
    from: "for (const what of evidence.open) yield { name: 'findings', is_met: false, what };",
    to: '',
  },
  {
    name: 'webhook payload trusted as state',
    file: 'proxy/sales/events.ts',
    from: 'const since_read_ms = ports.clock.now() - last_read_at;',
    to: "if (link.order !== null && event.action.startsWith('order.')) { await commitOrder(ports, link, { ...link.order, status: event.action.slice(6), last_updated_date: new Date(ports.clock.now()).toISOString() }); return done(ports, event); } const since_read_ms = ports.clock.now() - last_read_at;",
  },
  {
    name: 'no version compare',
    file: 'proxy/sales/order-transition.ts',
    from: "if (hasEnded(link) && order.status !== 'processed' && order.status !== 'refunded') return false;",
    to: 'if (version !== null) return true;',
  },
  {
    name: 'merchant order announced at its birth alone',
    file: 'proxy/sales/order-transition.ts',
    from: 'topicsOf(link, next, row).flatMap(',
    to: "topicsOf(link, next, row).filter((topic) => link.order === null || topic === 'payment').flatMap(",
  },
  {
    name: 'outbox in a second transaction',
    file: 'proxy/sales/settle.ts',
    from: 'const saved = await ports.store.links.saveLink(current, change, extra);',
    to: 'const first = await ports.store.links.saveLink(current, change, { ...extra, notices: [] }); const saved = (extra.notices ?? []).length === 0 ? first : await ports.store.links.saveLink(first, {}, { notices: extra.notices ?? [] });',
  },
  {
    name: '200 before inbox commit',
    file: 'proxy/http/webhooks.ts',
    from: 'await keep(door, event, verified);',
    to: 'void keep(door, event, verified);',
  },
  {
    name: 'route read outside the transaction',
    file: 'proxy/sales/create.ts',
    from: 'merchant.revision,',
    to: 'undefined,',
  },
  {
    name: 'cancel repeated blindly',
    file: 'proxy/sales/refresh.ts',
    from: "ports.memory.failpoint('cancel.sent');",
    to: "if (outcome.kind === 'broken') return sendCancel(ports, link, token, headers, deadline); ports.memory.failpoint('cancel.sent');",
  },
  {
    name: 'stale device lock',
    file: 'proxy/point/create.ts',
    from: 'if (holder.order_id === null) return busy;',
    to: 'if (deadline > 0) return busy;',
  },
  {
    name: 'webhook dropped by body hash',
    file: 'store/writes.ts',
    from: "WHERE NOT EXISTS (SELECT 1 FROM events WHERE state = 'pending' AND order_id IS ?",
    to: 'WHERE NOT EXISTS (SELECT 1 FROM events WHERE order_id IS ?',
    and: {
      from: 'AND action = ? AND sequence > ?)`',
      to: 'AND action = ? AND ? IS NOT NULL)`',
    },
  },
  {
    name: 'floats for amounts',
    file: 'mapping/values.ts',
    from: "const minor = BigInt(whole + fraction.slice(0, exponent).padEnd(exponent, '0'));",
    to: "const minor = Math.trunc(Number(whole + '.' + fraction) * 10 ** exponent);",
  },
  {
    name: 'unscoped GET by id',
    file: 'proxy/routing/lane.ts',
    from: 'return named.link?.merchant_id === merchant.id ? orders(named.link) : legacy;',
    to: 'return named.link !== null ? orders(named.link) : legacy;',
  },
];
