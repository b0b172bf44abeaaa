/** A till's calls through the real lanes and stories, with a proxy in the place of the door's. */
import { parseJson } from '../../../src/contract/json.ts';
import { PuenteError } from '../../../src/error.ts';
import type { Ports } from '../../../src/ops/ports.ts';
import { stories } from '../../../src/proxy/operations.ts';
import { chooseLane, namedBy } from '../../../src/proxy/routing/lane.ts';
import { beginProxied, endProxied, noteProxiedEnd } from '../../../src/proxy/routing/legacy-ledger.ts';
import type { Secret } from '../../../src/proxy/vault.ts';
import type { LegacySide } from './legacy.ts';
import type { Side } from './worlds.ts';

export interface Told {
  /** The lane of the last choice; null for a call that was refused before. */
  side: Side | null;
  /** 0: no answer. */
  status: number;
  body: unknown;
}

/** As often as the door chooses again after a conflict. */
const MAX_CHOICES = 4;

/** @param text the body as the till writes it; '' for none. */
export async function callOf(
  ports: Ports,
  legacy: LegacySide,
  token: Secret,
  name: string,
  path: Record<string, string>,
  text = '',
): Promise<Told> {
  const operation = ports.tables.operations.find((one) => one.name === name);
  const story = stories[operation?.story ?? ''];
  if (operation === undefined || story === undefined) throw new Error(`there is no operation ${name}`);
  const body = text === '' ? undefined : parseJson(text);
  const received_at = ports.clock.now();
  for (let choice = 0; choice < MAX_CHOICES; choice++) {
    const lane = await chooseLane(ports, token, await namedBy(ports, operation, path), operation.kind);
    if (lane.lane === 'refused') return { side: null, status: 503, body: null };
    let merchant_id = lane.lane === 'legacy' ? lane.merchant_id : lane.merchant.id;
    if (lane.lane === 'orders') {
      const { merchant, link, is_by_unit } = lane;
      const call = { operation, received_at, target: JSON.stringify(path), path, query: {}, headers: {}, body, token };
      const answer = await story(ports, { ...call, merchant, link, is_by_unit }).catch(refusalOf);
      if (answer.kind === 'answer') return { side: 'orders', status: answer.status, body: answer.body };
      if (answer.kind === 'moved') continue;
      merchant_id = merchant.id;
    }
    const is_token_refused = lane.lane === 'legacy' && lane.is_token_refused === true;
    const proxied = { merchant_id, operation, path, body: body ?? null, headers: {}, is_token_refused, token };
    if (operation.upstream !== 'create') {
      const answer = await legacy.proxyCall(operation, path, body);
      const shown = answer && { status: answer.status, body: async () => answer.body };
      await noteProxiedEnd(ports, proxied, shown, received_at);
      return { side: 'legacy', status: answer?.status ?? 0, body: answer?.body };
    }
    const begun = await beginProxied(ports, proxied);
    if (begun.kind === 'elsewhere') continue;
    const answer = await legacy.proxyCall(operation, path, body);
    if (begun.kind === 'begun') await endProxied(ports, begun.sale, answer);
    return { side: 'legacy', status: answer?.status ?? 0, body: answer?.body };
  }
  return { side: null, status: 503, body: null };
}

function refusalOf(error: unknown): { kind: 'answer'; status: number; body: unknown } {
  if (error instanceof PuenteError) return { kind: 'answer', status: error.code === 'refused' ? 400 : 500, body: null };
  throw error;
}
