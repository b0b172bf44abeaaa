/** What the doctor says of each merchant: a usable credential, and somewhere to send its notices. */
import { PuenteError } from '../../error.ts';
import { targetOf } from '../../proxy/notices/request.ts';
import type { Merchant } from '../../proxy/routing/merchant.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { durationText, type Finding, fine, found } from './finding.ts';

/** A token that ends within this long leaves work after the call without a credential soon. */
const TOKEN_WARNING_MS = 24 * 3_600_000;
/** More would make the answer a list that nobody reads; how many there are is said. */
const MOST_TOLD = 50;

export interface MerchantCheck {
  /** Throws PuenteError blocked_address for a URL that the outbound guard would refuse. */
  checkUrl(url: string): void;
}

/** One finding for each thing that is wrong; one in all when nothing is. */
export async function merchantFindings(runtime: Runtime, { checkUrl }: MerchantCheck): Promise<Finding[]> {
  const merchants = await runtime.store.merchants();
  const findings: Finding[] = [];
  for (const merchant of merchants) {
    findings.push(
      ...(await credentialFinding(runtime, merchant)),
      ...(await noticeFinding(runtime, merchant, checkUrl)),
    );
    // Thousands of merchants are looked at one after the other, and payments come first.
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (findings.length === 0) return [fine('merchants', `${merchants.length}, each with a credential and a notice URL`)];
  const more = findings.length - MOST_TOLD;
  if (more <= 0) return findings;
  const rest = found(
    'note',
    'merchants',
    `${more} more findings about merchants.`,
    'Repair these first, then look again',
  );
  return [...findings.slice(0, MOST_TOLD), rest];
}

/** The configured credential has no end that we know of; a token seen last is kept for a while, unless it was refused. */
async function credentialFinding({ store, clock, settings }: Runtime, merchant: Merchant): Promise<Finding[]> {
  if (merchant.sealed_credential !== null) return [];
  const name = `token of ${merchant.id}`;
  const repair = `Set a credential: puente merchants set ${merchant.id} --credential --reason … (from PUENTE_CREDENTIAL)`;
  const token = await store.latestToken(merchant.id);
  if (token === null)
    return [found('warning', name, 'None is known: its events and open sales can not be read.', repair)];
  const left_ms = token.seen_at + settings.tokens.kept_for_ms - clock.now();
  if (left_ms <= 0)
    return [
      found(
        'warning',
        name,
        `The last one was accepted ${durationText(clock.now() - token.seen_at)} ago and is not used any more.`,
        repair,
      ),
    ];
  if (token.accepted_until === 0)
    return [
      found(
        'warning',
        name,
        'The last one was refused by the service since.',
        `See that its till has a valid token. ${repair}`,
      ),
    ];
  if (left_ms < TOKEN_WARNING_MS)
    return [found('note', name, `The last one is kept for ${durationText(left_ms)} more.`, repair)];
  return [];
}

async function noticeFinding(
  runtime: Runtime,
  merchant: Merchant,
  checkUrl: (url: string) => void,
): Promise<Finding[]> {
  const name = `notices of ${merchant.id}`;
  const waiting = await runtime.store.countNotices({ merchant_id: merchant.id, states: ['pending'] });
  const url = targetOf(runtime, null, merchant);
  const set = `Name one: puente merchants set ${merchant.id} --notify URL --reason …`;
  const count = waiting === 1 ? '1 notice is' : `${waiting} notices are`;
  if (url === null) {
    if (waiting === 0) return [found('note', name, 'No URL is set: notices will be held back.', set)];
    return [found('warning', name, `${count} held back, because no URL is set.`, set)];
  }
  try {
    checkUrl(url);
    return [];
  } catch (error) {
    if (!(error instanceof PuenteError) || error.code !== 'blocked_address') throw error;
    return [found('warning', name, `${count} waiting, because its URL may not be called: ${error.message}`, set)];
  }
}
