/** A shop with tills, an IPN receiver and buyers, behind Puente on either stage. */
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
  /** Results of handled notices, oldest first; a notice whose handler failed is answered with 500 and is not listed. */
  handled: Handled[];
  failures: string[];
  buyer(action: string, till: string, options?: object): Promise<void>;
  /** The buyer acts on an order or legacy order of this id. */
  buyerOf(action: string, payable_id: string): Promise<void>;
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
  // An attached shop reaches Puente by the vendor's host name; here a setting does that.
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
