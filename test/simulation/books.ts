/** Collects the upstream's books and all other evidence at the end of a run. */
import type { PaymentIntent, Order as SandboxOrder } from '../../src/sandbox/records.ts';
import { slotOf } from './clients.ts';
import type { History, Intent, Order } from './history.ts';
import type { Service } from './service.ts';
import type { SimulatedWorld } from './world.ts';

const OPEN: ReadonlySet<string> = new Set(['created', 'at_terminal']);

export function bookOf(world: SimulatedWorld): History {
  const { run, clients, network, passthrough, mail, receivers, service, rows } = world;
  return {
    seed: run.plan.seed,
    ended_at: world.clock.now(),
    sales: [...clients.sales.values()],
    calls: clients.calls,
    upstream: network.calls,
    proxied: passthrough.log,
    webhooks: mail.log,
    deliveries: receivers.log,
    orders: [...service.world.orders.values()].map((order) => orderOf(service, order)),
    intents: [...service.world.intents.values()].map(intentOf),
    ...rows.all(),
    stages: world.stages,
    starts: world.starts,
    clocks: world.clocks,
    leaks: run.leaks,
    failures: run.failures,
    left: {
      under_way: world.underWay(),
      unsettled: run.life?.ports.memory.sales.unsettled.size ?? 0,
      flights: run.life?.ports.memory.sales.in_flight.size ?? 0,
    },
    steps: run.plan.steps,
    product: run.plan.product,
  };
}

/** Whether an order in `action_required` may still change is a setting of the world. */
export function isOpen(
  { action_required }: { action_required: 'final' | 'moves_on' },
  { status }: SandboxOrder,
): boolean {
  return OPEN.has(status) || (status === 'action_required' && action_required === 'moves_on');
}

function orderOf({ world }: Service, order: SandboxOrder): Order {
  const { place, transaction, merchant_id } = order;
  const payment = world.payments.get(transaction.reference_id ?? 0);
  const unit = place.type === 'qr' ? slotOf('static', place.external_pos_id) : slotOf('point', place.terminal_id);
  return {
    id: order.id,
    merchant_id,
    unit,
    mode: place.type === 'qr' ? place.mode : null,
    reference: order.external_reference,
    amount_minor: transaction.amount_minor,
    status: order.status,
    detail: transaction.status_detail,
    payment_id: transaction.reference_id === null ? null : String(transaction.reference_id),
    refunds: order.refunds.map(({ id, reference_id, amount_minor }) => ({
      id,
      number: reference_id,
      amount_minor,
      at: payment?.refunds.find((one) => String(one.id) === reference_id)?.created_at_ms ?? order.updated_at_ms,
    })),
    created_at: order.created_at_ms,
    ended_at: isOpen(world.settings, order) ? null : (order.paid_at_ms ?? order.updated_at_ms),
  };
}

function intentOf({ id, merchant_id, device_id, history, amount_minor }: PaymentIntent): Intent {
  const last = history.at(-1);
  const over = last !== undefined && !['OPEN', 'ON_TERMINAL', 'PROCESSING', 'PROCESSED'].includes(last.state);
  return {
    id,
    merchant_id,
    unit: slotOf('point', device_id),
    amount_minor,
    status: last?.state ?? 'OPEN',
    created_at: history[0]?.at_ms ?? 0,
    ended_at: over ? last.at_ms : null,
  };
}
