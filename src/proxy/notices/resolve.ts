/** The addresses behind a receiver's name, looked up so that names that hang hold up nobody else. */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import type { NewNotice, NoticeForm } from '../records/notices.ts';
import type { Dialect, PointPaymentNotices, QrNotices } from '../routing/merchant.ts';

/** All addresses of a host name; handed in by tests. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** How long a DNS server may take; the second try takes longer. */
const TIMEOUT_MS = 2_000;
const TRIES = 2;
/** With several servers each has its tries: a look-up must still end well before the sender's limit for connecting (10 s). */
const LONGEST_MS = 6_000;
/** What is waited for the other family once one has an address: some name servers never answer for IPv6. */
const OTHER_FAMILY_MS = 300;
/** A machine that has changed its network asks the new servers after so long. */
const SERVERS_KEPT_MS = 5_000;
/** The name, or its addresses, do not exist: that is its owner's fault. */
const NOTHING_THERE: readonly string[] = ['ENOTFOUND', 'ENODATA'];

/** What tests hand in. */
export interface ResolverParts {
  /** In place of those of this machine; asked again as those are. */
  servers?: () => readonly string[];
  longest_ms?: number;
  /** Monotonic, ms. */
  now?: () => number;
}

/**
 * Asks the DNS servers themselves. The system's own lookup waits in one of two threads of this process, behind which the
 * name of the payments service would wait too: a merchant whose names never answer could keep everybody's sales there.
 * Waits for no family for ever: one that has an address is enough. It rejects with ENOTFOUND, or with EAI_AGAIN as the
 * system's would.
 */
export function publicResolver({
  servers,
  longest_ms = LONGEST_MS,
  now = () => performance.now(),
}: ResolverParts = {}): Resolve {
  const open = (): Resolver => {
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    if (servers !== undefined) resolver.setServers(servers());
    return resolver;
  };
  const current = currentServers(open, now);
  return async (hostname) => {
    const resolver = current.resolver();
    const asked = [
      resolver.resolve4(hostname).then(...answerOf(4)),
      resolver.resolve6(hostname).then(...answerOf(6)),
    ] as const;
    const answers = await inTime(asked, longest_ms);
    const found = answers.flatMap((answer) => answer.found).sort((one, other) => one.family - other.family);
    if (found.length > 0) return found;
    const is_nothing = answers.length === asked.length && answers.every(({ code }) => NOTHING_THERE.includes(code));
    // Perhaps these servers are not ours to ask any more.
    if (!is_nothing) current.doubt();
    throw Object.assign(new Error('no address was found'), { code: is_nothing ? 'ENOTFOUND' : 'EAI_AGAIN' });
  };
}

/**
 * A resolver reads the machine's servers once, when it is made. It is kept while they are the same, because it remembers
 * which of them answer.
 */
function currentServers(open: () => Resolver, now: () => number): { resolver(): Resolver; doubt(): void } {
  let kept = open();
  let looked_at = now();
  return {
    resolver() {
      if (now() - looked_at < SERVERS_KEPT_MS) return kept;
      looked_at = now();
      const fresh = open();
      if (fresh.getServers().join() !== kept.getServers().join()) kept = fresh;
      return kept;
    },
    doubt() {
      looked_at = Number.NEGATIVE_INFINITY;
    },
  };
}

interface Answer {
  found: LookupAddress[];
  /** Empty with addresses. */
  code: string;
}

function answerOf(family: 4 | 6): [(addresses: string[]) => Answer, (error: NodeJS.ErrnoException) => Answer] {
  return [
    (addresses) => ({ found: addresses.map((address) => ({ address, family })), code: '' }),
    (error) => ({ found: [], code: error.code ?? '' }),
  ];
}

/** The answers that came in time: all, or those that are there a moment after the first one with an address. */
function inTime(asked: readonly Promise<Answer>[], longest_ms: number): Promise<Answer[]> {
  return new Promise((resolve) => {
    const answers: Answer[] = [];
    const end = (): void => {
      clearTimeout(timer);
      resolve([...answers]);
    };
    let timer = setTimeout(end, longest_ms);
    for (const one of asked) {
      void one.then((answer) => {
        answers.push(answer);
        if (answers.length === asked.length) return end();
        if (answer.found.length === 0) return;
        clearTimeout(timer);
        timer = setTimeout(end, Math.min(OTHER_FAMILY_MS, longest_ms));
      });
    }
  });
}

/** What this machine makes of a name, by its hosts file and its own network, too: for a sandbox or a closed network. */
export const systemResolver: Resolve = (hostname) => lookup(hostname, { all: true });

// In which form news goes out, IPN, webhook or both: decided when the notice is made.

/** News of a link before it is known in which form it is told. */
export type News = Omit<NewNotice, 'form'>;

/** The forms of what has a number; an intent's notice has the form of the merchant's dialect. */
export type FeedForm = Exclude<NoticeForm, 'point'>;

/**
 * The notices that tell the news: one in each form that is wanted. Each form is a delivery of its own, with its own
 * attempts, so that a receiver who knows one form only still gets that one in time.
 */
export function inForms(news: readonly News[], forms: readonly FeedForm[]): NewNotice[] {
  return news.flatMap((one): NewNotice[] =>
    one.topic === 'point' ? [{ ...one, form: 'point' }] : forms.map((form) => ({ ...one, form })),
  );
}

/**
 * The forms of a QR sale's notices.
 * @param url where they will go as far as is known now; null when nothing is set yet.
 * @param setting the merchant's `qr_notices`; `source_news` in the URL is stronger.
 * @param ipn_means `notices.source_news_ipn`: the guides and the specification contradict each other (`docs/field-notes.md` QR finding 10).
 */
export function qrForms(url: string | null, setting: QrNotices, ipn_means: FeedForm): readonly FeedForm[] {
  const query = url?.split('?').slice(1).join('?') ?? '';
  const source_news = new URLSearchParams(query).get('source_news');
  if (source_news === 'ipn') return [ipn_means];
  if (source_news === 'webhooks') return ['webhook'];
  return setting === 'both' ? ['ipn', 'webhook'] : [setting];
}

/**
 * The forms in which a Point sale's payment is told, beside the intent; none where it is not.
 * @param setting the merchant's `point_payment_notices`.
 */
export function pointPaymentForms(setting: PointPaymentNotices, dialect: Dialect): readonly FeedForm[] {
  if (setting === 'off') return [];
  if (dialect === 'point_integration_ipn') return ['ipn'];
  return setting === 'all' ? ['webhook'] : [];
}
