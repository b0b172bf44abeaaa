/** The operators: three people with roles who call the ops API, and run the real `puente` command as scripts do. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { type Answer, send } from '../http.ts';
import type { Transcript } from './transcript.ts';

/** Invented people; Ana looks, Ben operates, Eva approves. */
export const people = {
  ana: { role: 'viewer', token: 'token-of-ana-who-looks' },
  ben: { role: 'operator', token: 'token-of-ben-who-operates' },
  eva: { role: 'approver', token: 'token-of-eva-who-approves' },
} as const;
export type Name = keyof typeof people;

export interface Ran {
  code: number;
  out: string;
}

export interface Office {
  /** A call on the ops API that is printed. */
  ask(who: Name, method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<Answer>;
  /** A read by Ana that is not printed. @throws Error for any other status than 2xx. */
  look(path: string): Promise<unknown>;
  move(who: Name, merchant: string, target: object, reason: string): Promise<Answer>;
  set(who: Name, merchant: string, change: object, reason: string): Promise<Answer>;
  run(who: Name, ...argv: string[]): Promise<Ran>;
}

const HOUSE = join(import.meta.dirname, '..', '..');
/** Characters of a refusal that are printed. */
const SHOWN = 400;

export function createOffice(ops_url: string, { tell }: Transcript): Office {
  // A new connection each time, because people pause for longer than a door keeps one open.
  const call = (who: Name, method: string, path: string, body?: unknown): Promise<Answer> =>
    send(method, ops_url + path, { body, headers: { authorization: `Bearer ${people[who].token}` } }, { reset: true });
  const ask: Office['ask'] = async (who, method, path, body) => {
    tell('office', `${who}: ${method} ${path}${body === undefined ? '' : ` ${JSON.stringify(body, withoutSecrets)}`}`);
    const answer = await call(who, method, path, body);
    const { message } = Object(answer.body) as { message?: string }; // only refusals have one
    if (message !== undefined) tell('said', `${answer.status} ${message.slice(0, SHOWN)}`);
    return answer;
  };
  const look: Office['look'] = async (path) => {
    const { status, body } = await call('ana', 'GET', path);
    if (status >= 300) throw new Error(`GET ${path} was answered ${status}: ${JSON.stringify(body)}`);
    return body;
  };
  const revisionOf = async (merchant: string): Promise<number> =>
    ((await look(`/api/merchants/${merchant}`)) as { revision: number }).revision; // every view has a revision
  return {
    ask,
    look,
    move: async (who, merchant, target, reason) => {
      const body = { ...target, reason, revision: await revisionOf(merchant) };
      return ask(who, 'PUT', `/api/merchants/${merchant}/stage`, body);
    },
    set: async (who, merchant, change, reason) => {
      const body = { ...change, reason, revision: await revisionOf(merchant) };
      return ask(who, 'PUT', `/api/merchants/${merchant}`, body);
    },
    run(who, ...argv) {
      tell('office', `${who} $ puente ${argv.join(' ')}`);
      const env = { PATH: process.env.PATH, PUENTE_OPS_URL: ops_url, PUENTE_OPS_TOKEN: people[who].token };
      return new Promise((resolve) => {
        const command = [join(HOUSE, 'bin', 'puente.js'), ...argv];
        execFile(process.execPath, command, { env, maxBuffer: 64 * 1024 * 1024 }, (error, out, err) => {
          const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
          resolve({ code, out: out + err });
        });
      });
    },
  };
}

function withoutSecrets(name: string, value: unknown): unknown {
  return name === 'notice_secret' || name === 'notice_url' ? '…' : value;
}
