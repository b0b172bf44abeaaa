/** What the proxy's stories use: each takes the part that it needs. Everything here is handed in by `app/`. */
import type { Tables } from '../mapping/tables.ts';
import type { Clock } from './clock.ts';
import type { Evidence, ExchangeDraft } from './evidence/exchange.ts';
import type { Count, Log } from './log.ts';
import type { ProcessMemory } from './process-memory.ts';
import type { CoreSettings } from './settings.ts';
import type { Store } from './store.ts';
import type { Upstream } from './upstream/upstream.ts';
import type { Vault } from './vault.ts';

export interface Ports {
  store: Store;
  upstreams: {
    orders: Upstream;
    /** Where everything that is not ours is proxied; searches are merged with what it finds. */
    legacy: Upstream;
  };
  tables: Tables;
  vault: Vault;
  clock: Clock;
  settings: CoreSettings;
  log: Log;
  count: Count;
  notices: NoticePort;
  evidence: Evidence;
  memory: ProcessMemory;
  /** The exchange of the call that this work is done for; null outside of one. */
  exchange: ExchangeDraft | null;
}

export interface NoticePort {
  /** Of a URL that names none: plain where that may be called, as clients do without one. */
  scheme: 'http' | 'https';
  /** False for a URL that the rules, as they are set, never let a notice go to. */
  mayCall(url: string): boolean;
  /** Notices were committed: deliver them now. */
  waiting(): void;
}
