/** Runs the SDK's till as a child process and passes calls to it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Asked, Told } from './sdk-child.ts';
import type { PointCall } from './sdk-till.ts';

export interface SdkTill<Call extends string = PointCall> {
  /** @throws SdkError when the SDK threw. */
  call(call: Call, argument?: unknown, options?: { client?: string; token?: string }): Promise<SdkAnswer>;
  /** The error that the SDK throws; fails when it throws none. */
  refusal(
    call: Call,
    argument?: unknown,
    options?: { client?: string; token?: string },
  ): Promise<NonNullable<Told['error']>>;
  close(): Promise<void>;
}

export type SdkAnswer = Record<string, unknown> & {
  api_response: { status: number; headers: Record<string, string[]> };
};

/**
 * A process with the SDK. It gets only what an operator changes on an attached till: the address of the host name, and
 * a certificate authority to trust.
 * @param ca_file null: the authority is not trusted.
 * @param program the till's file, which defines its calls.
 */
export function startSdkTill<Call extends string = PointCall>(
  door_url: string,
  ca_file: string | null,
  token: string,
  program = 'sdk-till.ts',
): SdkTill<Call> {
  const child = fork(join(import.meta.dirname, program), {
    execPath: process.execPath,
    execArgv: ['--import', pathToFileURL(join(import.meta.dirname, 'attach.ts')).href],
    env: {
      PATH: process.env.PATH ?? '',
      ATTACH_PORT: new URL(door_url).port,
      ...(ca_file === null ? {} : { NODE_EXTRA_CA_CERTS: ca_file }),
    },
  });
  const waiting = new Map<number, (told: Told) => void>();
  let asked = 0;
  child.on('message', (told: Told) => {
    waiting.get(told.number)?.(told);
    waiting.delete(told.number);
  });
  child.on('exit', (code) => {
    for (const resolve of waiting.values())
      resolve({ number: 0, error: { name: 'exit', message: `The till ended: ${code}` } });
  });
  const ask: SdkTill<Call>['call'] extends (...given: infer Given) => unknown
    ? (...given: Given) => Promise<Told>
    : never = (call, argument = {}, options = {}) =>
    new Promise((resolve) => {
      const number = ++asked;
      waiting.set(number, resolve);
      child.send({
        number,
        client: options.client ?? 'one',
        token: options.token ?? token,
        call,
        argument,
      } satisfies Asked<Call>);
    });
  return {
    async call(...given) {
      const { result, error } = await ask(...given);
      if (error !== undefined)
        throw new Error(`The SDK threw ${error.name}: ${error.message} (${error.status}, ${error.cause})`);
      return result as SdkAnswer; // the door's answer, parsed by the SDK
    },
    async refusal(...given) {
      const { error } = await ask(...given);
      if (error === undefined) throw new Error('The SDK did not throw');
      return error;
    },
    close: () => ended(child),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.disconnect();
  await exit;
}
