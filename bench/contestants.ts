/** Who is measured, as data: each contestant carries the same requests to the same upstream. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Running, startProcess } from './processes.ts';

export interface Ground {
  upstream: Running;
  /** The contestant's core; null leaves it to the system. */
  core: number | null;
  directory: string;
  /** For Node of every contestant, e.g. to profile it. */
  node_options: string[];
}

/** A contestant that takes requests at `said`. */
export interface Contestant {
  name: string;
  what: string;
  start(ground: Ground): Promise<Running>;
}

/** Ratios are taken against this one. */
export const BASELINE = 'bare proxy';
/** Added latency is counted from this one. */
export const DIRECT = 'direct';

/** Where Puente's database lies under the ground's directory. */
export function databaseOf(directory: string): string {
  return join(directory, 'puente-data', 'puente.db');
}

const LISTENING = /(http:\/\/127\.0\.0\.1:\d+)/;
/** The bench's terminals never report back; looks at open orders would only be noise, and production has events instead. */
const NO_LOOKS_MS = '3600000';

export const contestants: readonly Contestant[] = [
  {
    name: DIRECT,
    what: 'to the upstream, no proxy',
    start: async ({ upstream }) => ({ ...upstream, stop: async () => undefined }),
  },
  {
    name: BASELINE,
    what: 'Express 5 + http-proxy-middleware 4, kept-alive pool, bytes untouched',
    start: ({ upstream, core, directory, node_options }) =>
      startProcess({
        name: 'bare-proxy',
        script: 'bench/bare-proxy.ts',
        arguments: [upstream.said],
        core,
        directory,
        node_options,
        ready: LISTENING,
      }),
  },
  {
    name: 'puente',
    what: 'translated, with its durable row',
    start: ({ upstream, core, directory, node_options }) => {
      mkdirSync(join(directory, 'puente-data'));
      return startProcess({
        name: 'puente',
        script: 'src/main.ts',
        core,
        directory,
        ready: new RegExp(`public door +${LISTENING.source}`),
        node_options,
        env: {
          PUENTE_UPSTREAM: upstream.said,
          PUENTE_SECRET_KEY: randomBytes(32).toString('base64'),
          PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
          PUENTE_DATA_DIR: join(directory, 'puente-data'),
          PUENTE_PUBLIC_PORT: '0',
          PUENTE_OPS_PORT: '0',
          PUENTE_RECONCILE_POINT_INTERVAL_MS: NO_LOOKS_MS,
          PUENTE_RECONCILE_MAX_INTERVAL_MS: NO_LOOKS_MS,
        },
      });
    },
  },
];
