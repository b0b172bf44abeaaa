/** Sessions of the console: a signed cookie instead of the ops token, so that the token lies in no page and on no disk. */
import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../proxy/runtime.ts';
import type { Vault } from '../../proxy/vault.ts';
import { hasEnded, type Member } from './people.ts';
import type { Person } from './person.ts';

/** A working day: who goes home signed in is signed out by the next morning. */
export const SESSION_MS = 12 * 60 * 60_000;
const VERSION = 'v1';
/** Hexadecimal digits, enough to tell apart what runs on one host. */
const MARK_DIGITS = 12;

export interface Sessions {
  /** The cookie's name. A browser sends cookies to every port of a host: each installation has a name of its own. */
  cookie: string;
  /** The cookie's value for somebody whose token was checked. It is signed and says a name, an end and nothing secret. */
  open(member: Member): string;
  /**
   * Who a cookie's value stands for; null for a forged, changed or ended one. A token that was changed or taken away ends its
   * sessions, and a role that was changed holds at once: both are read from the settings each time.
   */
  personOf(value: string): Person | null;
  /** What each form of a session carries, so that no other page can send it. */
  formToken(value: string): string;
  isFormToken(value: string, given: string): boolean;
}

/** The key comes from the installation's own: any process of it knows the sessions of the others, and a restart ends none. */
export function createSessions(members: readonly Member[], vault: Vault, clock: Pick<Clock, 'now'>): Sessions {
  const sign = (text: string): string => vault.keyed('ops session', text);
  const markOf = ({ digest }: Member): string => vault.keyed('ops session member', digest.toString('hex')).slice(0, 32);
  const formToken = (value: string): string => vault.keyed('ops form', value);
  return {
    // What begins so leaves with no carried call (`proxy/http/head.ts`).
    cookie: `puente_session_${vault.keyed('ops session cookie', VERSION).slice(0, MARK_DIGITS)}`,
    open(member) {
      const name = Buffer.from(member.person.name, 'utf8').toString('base64url');
      const text = [VERSION, name, clock.now() + SESSION_MS, markOf(member)].join('.');
      return `${text}.${sign(text)}`;
    },
    personOf(value) {
      const [version, name = '', ends_at, mark = '', signature = '', ...more] = value.split('.');
      const text = [version, name, ends_at, mark].join('.');
      if (version !== VERSION || more.length > 0 || !isSame(signature, sign(text))) return null;
      const now = clock.now();
      if (!(Number(ends_at) > now)) return null;
      const person_name = Buffer.from(name, 'base64url').toString('utf8');
      const member = members.find((one) => one.person.name === person_name && isSame(mark, markOf(one)));
      return member === undefined || hasEnded(member, now) ? null : member.person;
    },
    formToken,
    isFormToken: (value, given) => isSame(given, formToken(value)),
  };
}

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}
