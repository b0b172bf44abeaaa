/** Signing in to the ops API: who calls, and a limit on how many wrong tokens are answered and logged. */

import type { Request, RequestHandler } from 'express';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { Clock, Log } from '../../proxy/runtime.ts';
import { type Member, memberOf, personOf } from './people.ts';
import type { Person } from './person.ts';

/** A person who looks for the right token needs a few tries; a program that guesses needs billions. */
const WRONG_TOKENS_PER_WINDOW = 60;
const WINDOW_MS = 60_000;
/** Of a path in the log; what is longer was not typed by anybody. */
const SHOWN_PATH = 100;

export interface SignIn {
  /** Lets only known people pass. */
  handler: RequestHandler;
  /** Who sent a request that has passed. */
  personOf(request: Request): Person;
  /**
   * Whose token it is, with the same limit on wrong ones. @param path for the log.
   * @throws PuenteError unauthorized, or too_many after many wrong ones.
   */
  memberOf(token: string, path: string): Member;
}

/**
 * Wrong tokens are counted for the whole door, because an address or a header can be changed at will. A right token always
 * passes: a flood of wrong ones must not keep operators from going back to legacy.
 */
export function createSignIn(members: readonly Member[], clock: Pick<Clock, 'now'>, log: Log): SignIn {
  const people = new WeakMap<Request, Person>();
  let window = { from: Number.NEGATIVE_INFINITY, wrong: 0 };
  const refusal = (path: string, now: number): PuenteError => {
    if (now < window.from || now >= window.from + WINDOW_MS) window = { from: now, wrong: 0 };
    window.wrong += 1;
    if (window.wrong > WRONG_TOKENS_PER_WINDOW) return tooMany(window.from + WINDOW_MS - now);
    log.warn('ops call without a known token', { path: path.slice(0, SHOWN_PATH), count: window.wrong });
    return new PuenteError('unauthorized', say('refusal.token', {}));
  };
  return {
    handler: (request, _response, next) => {
      const now = clock.now();
      const person = personOf(members, request.headers.authorization, now);
      if (person === null) throw refusal(request.baseUrl + request.path, now);
      people.set(request, person);
      next();
    },
    personOf(request) {
      const person = people.get(request);
      if (person === undefined) throw new PuenteError('unauthorized', say('refusal.not_signed_in', {}));
      return person;
    },
    memberOf(token, path) {
      const now = clock.now();
      const member = memberOf(members, token, now);
      if (member === null) throw refusal(path, now);
      return member;
    },
  };
}

function tooMany(left_ms: number): PuenteError {
  const retry_after_s = Math.ceil(left_ms / 1000);
  return new PuenteError(
    'too_many',
    say('refusal.wrong_tokens', { most: WRONG_TOKENS_PER_WINDOW, seconds: retry_after_s }),
    { facts: { retry_after_s } },
  );
}
