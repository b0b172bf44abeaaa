/** Runs the probes on an account, and compares what they show with the assumptions of a profile. */
import { randomBytes } from 'node:crypto';
import { type SiteId, siteIds, sites } from '../../contract/sites.ts';
import { userMe } from '../../contract/upstream.ts';
import { PuenteError } from '../../error.ts';
import { listAssumptions, type Profile, profileSettings, settingsSchema } from '../assumptions.ts';
import { type Account, at, LONGEST_REASON, openAccount, textAt } from './account.ts';
import { facts, notProbed } from './expected.ts';
import { chapters, NotRun, type Stand } from './probes.ts';

export interface FidelityOrder {
  /** Base URL of the upstream. */
  against: string;
  token: string;
  /** The profile whose assumptions are expected. */
  profile: Profile;
  /** A terminal and a point of sale without orders, and an old order; null: none is named. */
  terminal: string | null;
  till: string | null;
  old_order: string | null;
  /** Also on an account that is not for tests. */
  live: boolean;
}

export interface FidelityLine {
  name: string;
  result: 'same' | 'drift' | 'not_run';
  expected: string;
  seen: string | null;
  /** Why it was not run. */
  why: string | null;
  /** What the assumption is about, with its source. */
  source: string;
}

export interface FidelityReport {
  against: string;
  profile: Profile;
  merchant_id: string;
  site: SiteId;
  calls: number;
  sums: { same: number; drift: number; not_run: number };
  lines: FidelityLine[];
  /** What this run has made, or may have, and could not end: ids, or a sentence. */
  left_open: string[];
}

/** The vendor's virtual terminal (`docs/field-notes.md` Point finding 12). */
const VIRTUAL_TERMINAL = 'NEWLAND_N950__SBX0000001';

/**
 * Makes some eighty calls on the account, in at most five minutes, with the smallest amounts; every order that it makes
 * is canceled, or refunded where the simulator has paid it.
 * @param report progress. @param stop interrupts the probes: what they have made is ended all the same. @throws PuenteError unauthorized for a refused token; refused for an account that is not for
 * tests, without `live`, and after `stop`; unreachable.
 */
export async function runFidelity(
  order: FidelityOrder,
  report: (news: string) => void,
  stop: AbortSignal = new AbortController().signal,
  now: () => number = Date.now,
): Promise<FidelityReport> {
  const against = order.against.replace(/\/+$/, '');
  const account = openAccount(against, order.token, now, stop);
  const seen = new Map<string, string>();
  const skipped = new Map<string, string>(Object.entries(notProbed));
  let left_open: string[] = [];
  try {
    const stand = await standOf(account, order, seen, skipped);
    try {
      for (const chapter of chapters) {
        if (stop.aborted) break;
        report(`${chapter.name}, ${account.calls()} calls made`);
        const why = chapter.lacks(stand) ?? (await chapter.run(stand).then(() => UNSEEN, reasonOf));
        for (const name of chapter.shows) if (!seen.has(name) && !skipped.has(name)) stand.skip(name, why);
      }
    } finally {
      report('ending what was made');
      left_open = await account.endAll();
    }
    if (stop.aborted) {
      const left =
        left_open.length === 0 ? 'Every order that it made was ended.' : `Not ended: ${left_open.join(', ')}.`;
      throw new PuenteError('refused', `The run was interrupted. ${left}`);
    }
    const lines = linesOf(order.profile, seen, skipped);
    const count = (result: FidelityLine['result']): number => lines.filter((line) => line.result === result).length;
    const sums = { same: count('same'), drift: count('drift'), not_run: count('not_run') };
    const { merchant_id, site } = stand;
    const { profile } = order;
    return { against, profile, merchant_id, site: site.site_id, calls: account.calls(), sums, lines, left_open };
  } finally {
    await account.close();
  }
}

const UNSEEN = 'a call before it was answered otherwise than expected';

function reasonOf(error: unknown): string {
  if (error instanceof NotRun || error instanceof PuenteError) return error.message;
  throw error;
}

/** The account by its token, and what of it the probes may touch. */
async function standOf(
  account: Account,
  { token, terminal, till, old_order, live }: FidelityOrder,
  seen: Map<string, string>,
  skipped: Map<string, string>,
): Promise<Stand> {
  const me = await account.call('GET', '/users/me');
  if (me.status === 401 || me.status === 403)
    throw new PuenteError('unauthorized', `Upstream refuses the token (${me.status}): put a valid one into the file.`);
  const user = userMe.safeParse(me.body).data;
  const site_id = siteIds.find((one) => one === textAt(me.body, 'site_id'));
  if (user === undefined || site_id === undefined)
    throw new PuenteError(
      'refused',
      `GET /users/me was answered ${me.status} without an account of a known site: is the URL that of the API?`,
    );
  const tags = at(me.body, 'tags');
  const is_test = token.startsWith('TEST-') || (Array.isArray(tags) && tags.includes('test_user'));
  if (!is_test && !live)
    throw new PuenteError(
      'refused',
      `The account ${user.id} is not one for tests: its tags lack test_user, and the token does not begin with TEST-. Nothing was made. Use a test user's token; or say --live, and name what may be used with --terminal and --till.`,
    );
  const tag = randomBytes(6).toString('hex');
  let count = 0;
  return {
    ...{ account, merchant_id: user.id, site: sites[site_id], till, is_test, old_order },
    terminal: terminal ?? (is_test ? await virtualTerminal(account) : null),
    reference: () => `fidelity${tag}${++count}`,
    seen: (name, value) => void seen.set(name, account.printable(String(value))),
    skip: (name, why) => void skipped.set(name, account.printable(why, LONGEST_REASON)),
  };
}

async function virtualTerminal(account: Account): Promise<string | null> {
  const list = at((await account.call('GET', '/terminals/v1/list')).body, 'data.terminals');
  const is_there = Array.isArray(list) && list.some((one) => textAt(one, 'id') === VIRTUAL_TERMINAL);
  return is_there ? VIRTUAL_TERMINAL : null;
}

/** One for each assumption, in the order of the settings, and then the facts. */
function linesOf(profile: Profile, seen: Map<string, string>, skipped: Map<string, string>): FidelityLine[] {
  const assumed = listAssumptions(settingsSchema.parse(profileSettings[profile])).map(({ name, value, sentence }) => ({
    name,
    expected: String(value),
    source: sentence,
  }));
  const held = Object.entries(facts).map(([name, { is, source }]) => ({ name, expected: is, source }));
  return [...assumed, ...held].map(({ name, expected, source }) => {
    const value = seen.get(name) ?? null;
    const result = value === null ? 'not_run' : value === expected ? 'same' : 'drift';
    const why = value === null ? (skipped.get(name) ?? UNSEEN) : null;
    return { name, result, expected, seen: value, why, source };
  });
}
