/** The contestants, as data: each handles the same requests with the same upstream. */
import { join } from 'node:path';
import { completion } from '../cases/cases.ts';
import { ROOT, type Running, readStartScript, startProcess } from '../processes.ts';
import { startGateway } from './gateway.ts';
import { startPuente } from './puente.ts';

export interface Ground {
  upstream: string;
  /** The contestant's core; null leaves it to the system. */
  core: number | null;
  directory: string;
  fsync_delay_us?: number;
  /** Another checkout, which `PUENTE_BESIDE` runs. */
  beside?: string;
  /** The database of a Puente without a file. */
  postgres_url?: string;
  /** The gateway's own program. */
  gateway?: string;
}

/** A contestant; it accepts requests at `said`. */
export interface Contestant {
  name: string;
  what: string;
  /** Whether it runs on Node, with a probe and a compile phase. */
  is_node: boolean;
  /** The cases that it supports; null is all. */
  cases: readonly string[] | null;
  /** The case that it is sent in place of a till's create, where it knows no tills. */
  as_create?: string;
  start(ground: Ground): Promise<Running>;
}

/** The base of the ratios. */
export const BASELINE = 'bare proxy';
/** The base of added latency. */
export const DIRECT = 'direct';
export const PUENTE = 'puente';
/** Puente of another checkout: the effect of a change shows only when both are measured in turn. */
export const PUENTE_BESIDE = 'puente beside';
/** A create between two durable commits without any safety beyond them: it shows what Puente adds. */
export const BARE_TRANSLATION = 'bare translation';
/** The same with Puente's own rows instead of its two commits: it shows what Puente adds besides its rows. */
export const TRANSLATION_WITH_ROWS = 'translation with rows';
/** Somebody else's stateless translation: it shows what a translation costs where nothing is stored. */
export const GATEWAY = 'gateway';

/** Measures the event loop on request of the parent; the same for all Node contestants. */
const PROBE = ['--import', join(import.meta.dirname, 'probe.ts')];
const LISTENING = /(http:\/\/127\.0\.0\.1:\d+)/;

export const contestants: readonly Contestant[] = [
  {
    name: DIRECT,
    what: 'to the upstream, no proxy: the ceiling',
    is_node: false,
    cases: null,
    start: async ({ upstream }) => ({
      pid: 0,
      said: upstream,
      // It has no process; reading this field would be a mistake.
      child: null as never,
      log: '',
      ready_ms: 0,
      stop: async () => undefined,
    }),
  },
  {
    name: BASELINE,
    what: 'Express 5 + http-proxy-middleware 4, kept-alive pool, bytes untouched',
    is_node: true,
    cases: null,
    start: (ground) => startNode('bare-proxy', ground),
  },
  {
    name: BARE_TRANSLATION,
    what: 'Express 5, undici and two durable commits around a create, and nothing else',
    is_node: true,
    cases: ['create'],
    start: (ground) => startTranslation(BARE_TRANSLATION, ground),
  },
  {
    name: TRANSLATION_WITH_ROWS,
    what: "the same, but the commits are those of Puente's own store for a sale",
    is_node: true,
    cases: ['create'],
    start: (ground) => startTranslation(TRANSLATION_WITH_ROWS, ground),
  },
  {
    name: GATEWAY,
    what: '@portkey-ai/gateway, where it is installed: a chat completion of that size to the form of another vendor and back, nothing stored',
    is_node: true,
    cases: ['create'],
    as_create: completion.name,
    start: (ground) => startGateway({ ...ground, node_options: PROBE }),
  },
  {
    name: PUENTE,
    what: 'translated, with its durable row',
    is_node: true,
    cases: null,
    start: (ground) => startPuente({ ...ground, node_options: PROBE }, settingsOn(ground)),
  },
];

/** Takes part only when requested with its checkout. */
const beside: Contestant = {
  name: PUENTE_BESIDE,
  what: 'Puente of the other checkout, on a database of its own',
  is_node: true,
  cases: null,
  start: (ground) =>
    startPuente(
      {
        ...ground,
        node_options: PROBE,
        directory: besideIn(ground.directory),
        ...(ground.beside === undefined ? {} : { root: ground.beside }),
      },
      settingsOn(ground),
    ),
};

function settingsOn({ postgres_url }: Ground): Record<string, string> {
  return postgres_url === undefined ? {} : { PUENTE_POSTGRES_URL: postgres_url };
}

/** @throws Error for an unknown name. */
export function contestantOf(name: string): Contestant {
  const found = [...contestants, beside].find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no contestant ${name}.`);
  return found;
}

export function besideIn(directory: string): string {
  return join(directory, 'beside');
}

/** A translation that is not Puente's: a yardstick for creates, with a database of its own. */
export type Translation = typeof BARE_TRANSLATION | typeof TRANSLATION_WITH_ROWS;

export function isTranslation(contestant: string): contestant is Translation {
  return contestant === BARE_TRANSLATION || contestant === TRANSLATION_WITH_ROWS;
}

export function translationDatabaseOf(translation: Translation, directory: string): string {
  return join(directory, `${translation.replaceAll(' ', '-')}.db`);
}

/** Uses Puente's own Node options, so that only the programs differ. */
function startTranslation(translation: Translation, ground: Ground): Promise<Running> {
  const { environment, options } = readStartScript(ROOT);
  const database = translationDatabaseOf(translation, ground.directory);
  const own = { arguments: [database, translation], options, environment };
  return startNode('translation', ground, own, translation);
}

function startNode(
  name: string,
  { upstream, core, directory, fsync_delay_us }: Ground,
  own: { arguments: string[]; options: string[]; environment: Record<string, string> } = {
    arguments: [],
    options: [],
    environment: {},
  },
  contestant = name,
): Promise<Running> {
  return startProcess({
    name: contestant,
    script: `bench/contestants/${name}.ts`,
    arguments: [upstream, ...own.arguments],
    env: own.environment,
    core,
    directory,
    node_options: [...own.options, ...PROBE],
    ready: LISTENING,
    ...(fsync_delay_us === undefined ? {} : { fsync_delay_us }),
  });
}
