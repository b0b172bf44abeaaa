/** `puente fidelity`: the token from its file, and the probes on the account that it is of. */
import { resolve } from 'node:path';
import { readSecret } from '../config/config.ts';
import { isLoopback } from '../config/contradictions.ts';
import { baseUrl } from '../config/kinds.ts';
import { PuenteError } from '../error.ts';
import { profiles } from '../sandbox/assumptions.ts';
import { type FidelityReport, runFidelity } from '../sandbox/fidelity/run.ts';

/** The options of the command, as typed. */
export interface FidelityOptions {
  against: string;
  tokenFile: string;
  profile: string;
  terminal?: string;
  till?: string;
  oldOrder?: string;
  live?: boolean;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Ends what it has made at a signal, too. @throws PuenteError bad_request for a wrong option or a file that others may read, and as `runFidelity`. */
export async function checkFidelity(
  cwd: string,
  { against, tokenFile, profile: wanted, terminal, till, oldOrder, live }: FidelityOptions,
  tell: (news: string) => void,
): Promise<FidelityReport> {
  const url = baseUrl().safeParse(against).data;
  const { protocol, hostname } = new URL(url ?? 'http://0.0.0.0');
  // The token of an account goes there.
  if (url === undefined || (protocol === 'http:' && !isLoopback(hostname.replaceAll(/[[\]]/g, ''))))
    throw new PuenteError(
      'bad_request',
      '--against: give the base URL of the API, such as https://api.mercadopago.com, without credentials, query or fragment; http is for this machine only.',
    );
  const profile = profiles.find((one) => one === wanted);
  if (profile === undefined) throw new PuenteError('bad_request', `--profile: choose ${profiles.join(' or ')}.`);
  const refusals: string[] = [];
  const token = readSecret(resolve(cwd, tokenFile), '--token-file', refusals);
  if (token === null) throw new PuenteError('bad_request', refusals.join(' '));
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new PuenteError('bad_request', `--token-file: ${tokenFile} must hold one access token and nothing else.`);
  const named = { terminal: terminal ?? null, till: till ?? null, old_order: oldOrder ?? null, live: live === true };
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  // A second signal ends the process at once.
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    return await runFidelity({ against: url, token, profile, ...named }, tell, stop.signal);
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, interrupt);
  }
}
