/** Who and what is there before any call: merchants with their tokens, stores, points of sale and terminals. */
import { PuenteError } from '../error.ts';
import { createCast, type Occupation, type Terminal } from './cast.ts';
import type { World } from './world.ts';

/** Merchants, tokens, stores, points of sale and terminals; `fill` puts the cast back. */
export function createPeople() {
  const merchants: World['merchants'] = new Map();
  const tokens: World['tokens'] = new Map();
  const oauth_tokens: World['oauth_tokens'] = new Set();
  const stores: World['stores'] = new Map();
  const points_of_sale: World['points_of_sale'] = new Map();
  const terminals = new Map<string, Map<string, Terminal>>();
  const lists = new Map<string, Terminal[]>();
  const addTerminal = (terminal: Terminal): void => {
    terminals.get(terminal.merchant_id)?.set(terminal.id, terminal);
    lists.get(terminal.merchant_id)?.push(terminal);
  };
  return {
    merchants,
    tokens,
    oauth_tokens,
    stores,
    points_of_sale,
    addTerminal,
    terminal: (merchant_id: string, terminal_id: string) => terminals.get(merchant_id)?.get(terminal_id),
    terminals: (merchant_id: string) => lists.get(merchant_id) ?? [],
    occupy(terminal: Terminal, occupation: Occupation): void {
      if (terminal.occupation !== null) {
        const holder = terminal.occupation.id;
        throw new PuenteError('conflict', `Terminal ${terminal.id} already holds ${holder}; end that first.`);
      }
      terminal.occupation = occupation;
    },
    release(terminal: Terminal, id: string): void {
      if (terminal.occupation?.id === id) terminal.occupation = null;
    },
    fill(extra_terminals: number): void {
      const cast = createCast(extra_terminals);
      for (const map of [merchants, tokens, oauth_tokens, stores, points_of_sale, terminals, lists]) map.clear();
      for (const merchant of cast.merchants) {
        merchants.set(merchant.user_id, merchant);
        tokens.set(merchant.access_token, merchant);
        terminals.set(merchant.user_id, new Map());
        lists.set(merchant.user_id, []);
      }
      for (const store of cast.stores) stores.set(store.id, store);
      for (const point of cast.points_of_sale) points_of_sale.set(point.id, point);
      for (const terminal of cast.terminals) addTerminal(terminal);
    },
  };
}
