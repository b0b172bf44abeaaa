/** Puente with a sandbox that can be cut off and a clock that can jump hours; it counts upstream calls. */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { startSandbox } from '../../src/sandbox/server.ts';
import { type Answer, ARGENTINA, call } from '../kit.ts';
import { listen, shut } from '../listen.ts';
import { closing } from '../open.ts';
import { forward } from '../proxy/http/front.ts';
import { type Outside, startOutside } from '../proxy/http/unruly.ts';

export interface Outage extends Outside {
  /** While true every connection is cut at its first request. */
  down: boolean;
  /** `GET /v1/orders/…` so far, cut ones included. */
  reads(): number;
  pass(ms: number): Promise<void>;
  control(path: string, options?: { method?: string; body?: unknown }): Promise<Answer>;
  atTerminal(action: string, device: string): Promise<Answer>;
  states(): Map<string, string>;
}

/** @param settings added to those of an outside upstream; upstream sends no webhooks. */
export async function openOutage(settings: Record<string, string>): Promise<Outage> {
  const sandbox = await startSandbox({ host: '127.0.0.1', port: 0, settings: { extra_terminals: 100 } });
  let reads = 0;
  let offset_ms = 0;
  const server = createServer((incoming, response) => {
    if (incoming.method === 'GET' && /^\/v1\/orders\/ORD/.test(incoming.url ?? '')) reads++;
    if (outage.down) incoming.socket.destroy();
    else void forward(sandbox.url, incoming, response);
  });
  const port = await listen(server);
  const clock = { now: () => Date.now() + offset_ms, sleep: (ms: number) => sleep(ms) };
  const outside = await startOutside(`http://127.0.0.1:${port}`, settings, { clock });
  const control: Outage['control'] = (path, options) => call(`${sandbox.url}/_sandbox${path}`, options);
  const outage: Outage = {
    ...outside,
    down: false,
    reads: () => reads,
    control,
    async pass(ms) {
      offset_ms += ms;
      await control('/clock', { body: { advance_ms: ms } });
    },
    atTerminal: (action, device) => control(`/terminals/${ARGENTINA}/${device}/${action}`, { body: {} }),
    states() {
      using database = closing(new Database(join(outside.data_dir, 'puente.db'), { readonly: true }));
      const rows = database
        .prepare<[], { id: string; state: string }>('SELECT legacy_id AS id, state FROM links')
        .all();
      return new Map(rows.map(({ id, state }) => [id, state]));
    },
    async close() {
      await outside.close();
      await shut(server);
      await sandbox.close();
    },
  };
  return outage;
}
