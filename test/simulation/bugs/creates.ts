/** Seeded bugs of the create: key, row, repeat, answer. */
import type { BugRow } from './bug.ts';

const PORTS_IMPORT = "import { noteId, type Ports } from '../ports.ts';";

export const createBugs: BugRow[] = [
  {
    name: 'POST before insert',
    file: 'proxy/sales/create.ts',
    from: PORTS_IMPORT,
    to: `${PORTS_IMPORT} import { routeOf } from '../upstream/upstream.ts';`,
    and: {
      from: "ports.memory.failpoint('create.before_row');",
      to: "await ports.upstreams.orders.send({ ...routeOf('create'), body: fresh.body, token: call.token, idempotency_key: fresh.link.idempotency_key, timeout_ms: 4_000 }); ports.memory.failpoint('create.before_row');",
    },
  },
  {
    name: 'new key per retry',
    file: 'proxy/sales/submit.ts',
    from: 'idempotency_key: plan.link.idempotency_key,',
    to: 'idempotency_key: is_repeat ? ports.memory.ids.idempotencyKey() : plan.link.idempotency_key,',
  },
  {
    name: 'retry after definite 4xx',
    file: 'proxy/sales/submit.ts',
    from: "if (!expected.is_repeat) return { kind: 'definite', status, body };",
    to: "if (!expected.is_repeat) return ambiguous('refused', true);",
  },
  {
    name: 'ack before commit',
    file: 'proxy/sales/submit.ts',
    from: 'const saved = await applyOrder(ports, link, order, { extra, merchant: plan.merchant });',
    to: "const saved = { ...link, order, order_id: order.id, state: 'LIVE' }; void applyOrder(ports, link, order, { extra, merchant: plan.merchant });",
  },
  {
    name: 'body re-serialised on repeat',
    file: 'proxy/sales/submit.ts',
    from: 'const body = plan.body ?? storedBody(ports, link);',
    to: 'const body = plan.body ?? Buffer.from(JSON.stringify(JSON.parse(String(storedBody(ports, link))), null, 1));',
  },
  {
    name: 'no GET after repeat',
    file: 'proxy/sales/submit.ts',
    from: 'const fresh = result.is_repeat ? await readOrder(ports, plan.token, verdict.order.id, plan.deadline) : null;',
    to: 'const fresh = null;',
  },
  {
    name: 'dedupe of rows whose order is final',
    file: 'proxy/sales/create.ts',
    from: 'let own_reference = true;',
    to: "let own_reference = true; const old = (await ports.store.history.linksOf(call.merchant.id, 0, Number.MAX_SAFE_INTEGER, 20)).find((one) => one.unit === sale.unit && one.state === 'DONE' && one.client_reference === sale.client_reference); if (old !== undefined) return sale.created(old);",
  },
  {
    name: 'a final order is never joined',
    file: 'proxy/sales/create.ts',
    from: 'if (retriable === null || wasCanceledByUs(retriable)) return null;',
    to: "if (retriable === null || retriable.state === 'DONE') return null;",
  },
  {
    name: 'no dedupe of in-doubt rows',
    file: 'proxy/sales/create.ts',
    from: 'if (retriable === null || wasCanceledByUs(retriable)) return null;',
    to: "if (retriable === null || wasCanceledByUs(retriable) || retriable.state === 'IN_DOUBT' || retriable.state === 'SENDING') return null;",
  },
  {
    name: '"ok" marked after the answer',
    file: 'proxy/sales/submit.ts',
    from: ', ...(at === null ? {} : answeredAt(current, at))',
    to: '',
    and: {
      from: "ports.memory.failpoint('create.settled');",
      to: "ports.memory.failpoint('create.settled'); if (plan.for_client !== false) void ports.clock.sleep(200).then(() => changeLink(ports, saved, (current) => ({ change: answeredAt(current, ports.clock.now()) })));",
    },
  },
  {
    name: 'a lost answer takes back a delivered one',
    test: { file: 'test/proof/protocol-open.test.ts', name: 'the first is lost after' },
    file: 'proxy/sales/known-to-till.ts',
    from: "if (own?.fate !== 'under way') return;",
    to: 'if (own === undefined) return;',
  },
  {
    name: 'settlement cancels an order that was claimed meanwhile',
    test: { file: 'test/proof/protocol-recovery.test.ts', name: 'while it was looked at for the first time' },
    file: 'proxy/sales/recover.ts',
    from: "unclaimed(current) ? { change: { cancel: 'sent' } } : null,",
    to: "current.cancel === null ? { change: { cancel: 'sent' } } : null,",
    and: {
      from: 'if (!unclaimed(marked)) return',
      to: 'if (false) return',
    },
  },
  {
    name: 'id generated per attempt',
    file: 'proxy/point/create.ts',
    from: 'intent_id: link.legacy_id,',
    to: 'intent_id: link.attempts > 1 ? ports.memory.ids.legacyId(ports.clock.now()) : link.legacy_id,',
  },
  {
    name: 'repeat after R',
    file: 'proxy/sales/submit.ts',
    from: 'return now - link.first_sent_at < window_ms;',
    to: 'return window_ms > 0;',
  },
  {
    name: '409 on repeat treated as definite',
    file: 'proxy/sales/submit.ts',
    from: "if (code === 'idempotency_key_already_used') return ambiguous(code, false);",
    to: "if (code === 'idempotency_key_already_used') return { kind: 'definite', status, body };",
  },
];
