/** A shop with tills and a receiver of IPN behind Puente, on either stage, and its buyers. */
import {
  type Bench,
  call,
  type Delivery,
  eventually,
  type Receiver,
  startBench,
  startReceiver,
  tokenOf,
} from '../kit.ts';
import { type Connection, type Handled, handleIpn } from './qr-clients.ts';

export type Stage = 'legacy' | 'orders';

export interface Shop {
  bench: Bench;
  connection: Connection;
  receiver: Receiver;
  /** What each notice led to, oldest first; a notice whose handler failed is answered with 500 and not in here. */
  handled: Handled[];
  failures: string[];
  /** The buyer at the printed code of a till. */
  buyer(action: string, till: string, options?: object): Promise<void>;
  /** The buyer with something of an id of its own: an order's, or a legacy one's. */
  buyerOf(action: string, payable_id: string): Promise<void>;
  /** Resolves with what was handled when it is that many. */
  handledAtLeast(count: number): Promise<Handled[]>;
  close(): Promise<void>;
}

export async function openShop(stage: Stage, merchant: string): Promise<Shop> {
  const handled: Handled[] = [];
  const failures: string[] = [];
  let connection: Connection | undefined;
  const receiver = await startReceiver(async (delivery: Delivery) => {
    try {
      if (connection === undefined) throw new Error('A notice came before anything was sold');
      handled.push(await handleIpn(connection, delivery));
      return 200;
    } catch (error) {
      failures.push(String(error));
      return 500;
    }
  });
  const bench = await startBench({ PUENTE_ROUTING_DEFAULT_STAGE: stage });
  connection = { door_url: bench.app.public_url, token: tokenOf(merchant), merchant };
  // The vendor's host name leads to Puente where a shop is attached by its name; here the setting says so.
  await bench.control('/settings', { method: 'PUT', body: { ipn_resource_base: bench.app.public_url } });
  const act = async (path: string, options: object): Promise<void> => {
    const { status, text } = await call(`${bench.sandbox.url}/_sandbox/${path}`, { body: options });
    if (status !== 200) throw new Error(`The buyer could not do that: ${text}`);
  };
  return {
    bench,
    connection,
    receiver,
    handled,
    failures,
    buyer: (action, till, options = {}) => act(`pos/${merchant}/${till}/${action}`, options),
    buyerOf: (action, payable_id) => act(`payables/${payable_id}/${action}`, {}),
    handledAtLeast: (count) =>
      eventually(
        async () => handled,
        (all) => all.length >= count,
      ),
    async close() {
      await bench.close();
      await receiver.close();
    },
  };
}
