/** A captured exchange with everything that is needed to do it again on paper. */
import type { Tables } from '../../mapping/tables.ts';
import type { CapturedMessages, Exchange } from '../../proxy/evidence/exchange.ts';
import type { ShadowTask } from '../../proxy/runtime.ts';
import type { askedOf, ShadowTools } from '../../proxy/shadow/shadow.ts';
import type { matcherOf } from './match.ts';

export interface ReplayTools extends ShadowTools {
  /** Those that would do the work now. */
  tables: Tables;
}

export interface ExchangeTools extends ReplayTools {
  match: ReturnType<typeof matcherOf>;
}

export interface Again {
  tools: ExchangeTools;
  exchange: Exchange;
  messages: CapturedMessages;
  task: ShadowTask;
  asked: ReturnType<typeof askedOf>;
}
