/** A reader who types a page's commands: an installation of its own, terminals, and ports of this machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../listen.ts';
import { HOUSE } from '../run-cli.ts';

/** The ports on the pages; each reader gets free ports instead, so that tests can run in parallel. */
const DOOR_PORTS = ['8080', '8081', '8082', '9000'];
const DOORS = new RegExp(`\\b(${DOOR_PORTS.join('|')})\\b`, 'g');
/** The files of a clone that the commands need. */
const INSTALLATION = ['.npmrc', 'package.json', 'bin', 'config', 'mappings', 'src'];
/** Only ends a test that hangs. */
const START_LIMIT_MS = 120_000;

export interface Typed {
  /** Null when a signal ended it. */
  code: number | null;
  /** Both output streams, as a terminal shows them. */
  output: string;
}

export interface Reader {
  /** Types a block; variables and the directory stay for the next one, and a started server keeps running. */
  type(block: string): Promise<Typed>;
  /** Ctrl-C in the server's terminal. */
  interrupt(): Promise<void>;
  leave(): Promise<void>;
}

/**
 * @param npx `real` is npm's own for the first command, as users type it; it takes ten times a command's processor time,
 * so a shortcut stands in for it afterwards, and for `quick` from the start.
 * @param place a folder for one reader after the other. Each finds a new clone; what Node compiled for the last one is left.
 * @throws Error when no port is free.
 */
export async function sitDown(npx: 'real' | 'quick', place: string): Promise<Reader> {
  empty(place, 'puente');
  const home = join(place, 'home');
  const memory = join(place, 'memory.sh');
  mkdirSync(home);
  makeInstallation(join(place, 'puente'));
  const ports = await freePorts(DOOR_PORTS.length);
  const groups: ChildProcess[] = [];
  let server: ChildProcess | null = null;
  let typed = 0;
  const env = {
    PATH: `${makeShortcut(place, npx === 'real')}:${join(HOUSE, 'node_modules', '.bin')}:${process.env.PATH}`,
    HOME: home,
    LANG: 'C.UTF-8',
    npm_config_update_notifier: 'false',
    PUENTE_PUBLIC_PORT: ports[0],
    PUENTE_OPS_PORT: ports[1],
    PUENTE_SANDBOX_PORT: ports[2],
    PUENTE_OPS_URL: `http://127.0.0.1:${ports[1]}`,
    PUENTE_LOG_LEVEL: 'warn',
    // Other tests keep this machine busy, which must not make Puente shed the reader's till.
    PUENTE_LIMITS_LAG_MS: '600000',
  };
  writeFileSync(memory, `cd '${join(place, 'puente')}'\n`);
  const here = (text: string) => text.replace(DOORS, (door) => ports[DOOR_PORTS.indexOf(door)] ?? door);

  const begin = (block: string): { child: ChildProcess; file: string } => {
    const file = join(place, `output-${typed++}.txt`);
    const script = [
      `. '${memory}'`,
      `trap '{ export -p; printf "cd %q\\n" "$PWD"; } > "${memory}"' EXIT`,
      'set -e -o pipefail',
      here(block),
    ].join('\n');
    const output = openSync(file, 'w');
    const child = spawn('bash', ['-c', script], { env, detached: true, stdio: ['ignore', output, output] });
    closeSync(output);
    groups.push(child);
    return { child, file };
  };

  const interrupt = async (): Promise<void> => {
    if (server === null || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    signal(server, 'SIGINT');
    await ended;
    server = null;
  };

  return {
    async type(block) {
      if (!startsServer(block)) {
        const { child, file } = begin(block);
        const [code] = (await once(child, 'exit')) as [number | null];
        return { code, output: readFileSync(file, 'utf8') };
      }
      await interrupt();
      const { child, file } = begin(block);
      server = child;
      const isReady = await ready(child, `http://127.0.0.1:${ports[1]}/readyz`);
      return { code: isReady ? 0 : child.exitCode, output: readFileSync(file, 'utf8') };
    },
    interrupt,
    async leave() {
      await interrupt();
      for (const child of groups) signal(child, 'SIGKILL');
    },
  };
}

/** Whether the block's last line starts the server, which runs until a signal. */
function startsServer(block: string): boolean {
  return /(^|\s)npm start$/.test(block.trimEnd());
}

/** A clone of the repository as `npm ci` leaves it. */
export function makeInstallation(directory: string): void {
  mkdirSync(directory, { recursive: true });
  empty(directory, 'node_modules');
  for (const name of INSTALLATION) cpSync(join(HOUSE, name), join(directory, name), { recursive: true });
  const modules = join(HOUSE, 'node_modules');
  if (existsSync(join(directory, 'node_modules'))) return;
  mkdirSync(join(directory, 'node_modules'));
  // Without `.cache`: Node's compile cache belongs to each copy.
  for (const name of readdirSync(modules).filter((one) => one !== '.cache'))
    symlinkSync(join(modules, name), join(directory, 'node_modules', name));
}

function empty(directory: string, but: string): void {
  for (const name of readdirSync(directory).filter((one) => one !== but))
    rmSync(join(directory, name), { recursive: true, force: true, maxRetries: 5 });
}

/** @returns the folder of an `npx` that runs only Puente's program; npm's own does it once, if `first_is_real`. */
function makeShortcut(place: string, first_is_real: boolean): string {
  const folder = join(place, 'bin');
  mkdirSync(folder);
  const once = join(folder, 'once');
  if (first_is_real) writeFileSync(once, '');
  const lines = [
    '#!/bin/sh',
    // The other folders of the search path, so that npm's npx is found.
    `if rm '${once}' 2>/dev/null; then PATH="\${PATH#*:}" exec npx "$@"; fi`,
    '[ "$1" = puente ] || { echo "only puente is here, not $1" >&2; exit 127; }',
    `shift; exec node '${join(place, 'puente', 'bin', 'puente.js')}' "$@"`,
  ];
  writeFileSync(join(folder, 'npx'), `${lines.join('\n')}\n`, { mode: 0o755 });
  return folder;
}

async function ready(child: ChildProcess, url: string): Promise<boolean> {
  const limit = Date.now() + START_LIMIT_MS;
  while (child.exitCode === null && Date.now() < limit) {
    const status = await fetch(url).then(
      (answer) => answer.status,
      () => 0, // not listening yet
    );
    if (status === 200) return true;
    await delay(50);
  }
  return false;
}

function signal({ pid }: ChildProcess, name: 'SIGINT' | 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // the group has no process left
  }
}
