/** A stateless translation that is not Puente's: the gateway of Portkey, its own program in a process of its own. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { freePorts } from '../../test/listen.ts';
import { type Running, startProcess } from '../processes.ts';
import type { Ground } from './contestants.ts';

const PROGRAM = '@portkey-ai/gateway/build/start-server.js';
export const GATEWAY_MISSING =
  'not installed; run `npm install @portkey-ai/gateway@1.15.2` in an empty folder, and name that with --gateway';

/** @param folder where npm has installed it, or one below. @returns its program; null without it. */
export function gatewayIn(folder: string): string | null {
  const places = createRequire(join(resolve(folder), 'package.json')).resolve.paths(PROGRAM) ?? [];
  return places.map((place) => join(place, PROGRAM)).find((path) => existsSync(path)) ?? null;
}

/** As its package starts it, without its pages. */
export async function startGateway({
  gateway = '',
  core,
  directory,
  node_options,
}: Ground & { node_options: readonly string[] }): Promise<Running> {
  const [port = 0] = (await freePorts(1)).map(Number);
  const command = [process.execPath, ...node_options, gateway, '--headless', `--port=${port}`];
  return startProcess({ name: 'gateway', command, core, directory, port });
}
