/** Delivery of notifications with the documented patience: 200 or 201 within 22 s, else again every 15 minutes, then ever later. */
import { X509Certificate } from 'node:crypto';
import { checkServerIdentity, rootCertificates } from 'node:tls';
import { Agent, type buildConnector, request } from 'undici';
import type { World } from './world.ts';

export interface Letter {
  url: string;
  /** For the log. */
  topic: string;
  subject: string;
  action: string;
  body: string;
  /** Built anew for each attempt, counted from 0. */
  headers(attempt: number): Record<string, string>;
}

export interface Postman {
  /** Returns at once; attempts go on in the background until one is taken or the world is reset. */
  deliver(letter: Letter): void;
  close(): Promise<void>;
}

/** `interface.md` IPN: every 15 minutes; after the third attempt the interval grows, here by doubling. */
const RETRY_MS = 15 * 60 * 1000;
const EVEN_RETRIES = 3;
/** One vendor text says up to about a day (`orders-api.md` §4.3). */
const MAX_RETRY_MS = 24 * 60 * 60 * 1000;

/** @param certificate PEM of a receiver that is trusted as it is, beside everybody whom a public authority has signed. */
export function createPostman(world: World, certificate: string | null = null): Postman {
  const agent = new Agent(certificate === null ? {} : { connect: trusting(certificate) });
  let stop = new AbortController();
  world.onReset(() => {
    stop.abort();
    stop = new AbortController();
  });

  function deliver(letter: Letter, attempt: number): void {
    const { signal } = stop;
    world.track(
      post(letter, attempt, signal).then((isTaken) => {
        if (!isTaken && !signal.aborted) world.clock.schedule(retryDelay(attempt), () => deliver(letter, attempt + 1));
      }),
    );
  }

  async function post(letter: Letter, attempt: number, stopped: AbortSignal): Promise<boolean> {
    const { url, topic, subject, action, body } = letter;
    const line = { at: new Date(world.clock.now()).toISOString(), url, topic, subject, action, attempt: attempt + 1 };
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: letter.headers(attempt),
        body,
        dispatcher: agent,
        signal: AbortSignal.any([stopped, AbortSignal.timeout(world.settings.webhook_timeout_ms)]),
      });
      await answer.body.dump();
      world.sent_log.push({ ...line, status: answer.statusCode, failure: null });
      return answer.statusCode === 200 || answer.statusCode === 201;
    } catch (failure) {
      if (stopped.aborted) return false;
      world.sent_log.push({
        ...line,
        status: null,
        failure: failure instanceof Error ? failure.message : String(failure),
      });
      return false;
    }
  }

  return { deliver: (letter) => deliver(letter, 0), close: () => agent.destroy() };
}

function retryDelay(attempt: number): number {
  if (attempt < EVEN_RETRIES) return RETRY_MS;
  return Math.min(RETRY_MS * 2 ** (attempt - EVEN_RETRIES + 1), MAX_RETRY_MS);
}

/** Puente's door may have a private certificate for the vendor's host name, while the sandbox calls its address. */
function trusting(certificate: string): buildConnector.BuildOptions {
  const { fingerprint256 } = new X509Certificate(certificate);
  return {
    ca: [...rootCertificates, certificate],
    allowPartialTrustChain: true,
    checkServerIdentity: (host, peer) =>
      peer.fingerprint256 === fingerprint256 ? undefined : checkServerIdentity(host, peer),
  };
}
