/** The kinds of settings: each checks one value and describes what it allows. */
import { z } from 'zod';
import { RESERVED_NAMES, roles } from '../ops/api/person.ts';
import { conditionKinds, incidentKinds } from '../proxy/records/incidents.ts';
import { policyAmong } from '../proxy/routing/merchant.ts';
import { Secret } from '../proxy/vault.ts';

/** `allowed` completes "allowed is …"; the value of a secret is never shown. */
export interface KindFacts {
  allowed: string;
  secret?: boolean;
  /** A path; a relative one counts from the directory of the start. */
  is_path?: boolean;
  /** Of named entries: what of an entry a `…_file` may hold instead. */
  entry_secrets?: readonly string[];
  init?: InitFacts;
}

/** How `puente init` takes a setting. */
interface InitFacts {
  /** The flags of its option, and what that takes. */
  option?: readonly [flags: string, about: string];
  question?: string;
  /** An empty answer leaves it unset. */
  is_optional?: boolean;
  /** Of a secret: what the file is for that holds it. */
  file?: string;
}

/** The kind with what `puente init` asks or takes for it. */
export function forInit<Kind extends z.ZodType>(kind: Kind, init: InitFacts): Kind {
  return kind.meta({ init });
}

/** Node's timers count to 2^31 - 1 ms; this is 23 days. */
const LONGEST_MS = 2_000_000_000;
/** Longer texts are mistakes: no setting needs one. */
const LONGEST_TEXT = 2048;

/** Both bounds are allowed. */
export function milliseconds(least: number, most: number = LONGEST_MS) {
  return wholeNumber(least, most, 'milliseconds');
}

/** Both bounds are allowed. @param unit plural, such as `bytes`; for people only. */
export function wholeNumber(least: number, most: number, unit?: string) {
  const of = unit === undefined ? '' : ` of ${unit}`;
  return z
    .int()
    .min(least)
    .max(most)
    .meta({ allowed: `a whole number${of} from ${least} to ${most}` });
}

/** 0 takes a free port. */
export function listeningPort() {
  return z.int().min(0).max(65535).meta({ allowed: 'a port from 1 to 65535, or 0 for a free one' });
}

/** A YAML boolean; a variable has the text `true` or `false`. */
export function flag() {
  return z.boolean().meta({ allowed: 'true or false' });
}

/** Exactly one of the texts, in the same case. */
export function choice<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values).meta({ allowed: values.join(', ') });
}

/** What happens to names that no table has. */
export function unknownPolicy<const Policies extends readonly [string, ...string[]]>(policies: Policies) {
  return policyAmong(policies).meta({ allowed: policies.join(', ') });
}

/** A text of one line; `what` completes "allowed is …". */
export function line(what: string) {
  return z
    .string()
    .max(LONGEST_TEXT)
    .regex(/^[\x20-\x7e]*[\x21-\x7e]$/)
    .meta({ allowed: what });
}

/**
 * Only its length is checked; whether the file exists, the start or its user finds out. @param what completes "the path
 * of …".
 */
export function path(what: string) {
  return z
    .string()
    .min(1)
    .max(LONGEST_TEXT)
    .meta({ allowed: `the path of ${what}`, is_path: true });
}

/** The base of addresses that Puente calls or publishes: scheme and host, no credentials, query or fragment. */
export function baseUrl() {
  return z.string().max(LONGEST_TEXT).refine(isBaseUrl).transform(withoutSlash).meta({
    allowed: 'a base URL such as https://host.example, without credentials, query or fragment',
  });
}

/** An address to post to; it may have a query, never credentials. */
export function targetUrl() {
  return z
    .string()
    .max(LONGEST_TEXT)
    .refine((text) => hasNoCredentials(text))
    .meta({ allowed: 'an http or https URL without credentials' });
}

/** A value that refuses to be printed. */
export function secret(shortest: number) {
  return z
    .string()
    .min(shortest)
    .max(LONGEST_TEXT)
    .transform((value) => new Secret(value))
    .meta({ allowed: `a text of ${shortest} to ${LONGEST_TEXT} characters`, secret: true });
}

/** More operators than one installation has; every request compares its token with each. */
const MOST_PEOPLE = 100;

/** A database server's address, which contains a password. */
export function databaseUrl() {
  return z
    .string()
    .max(LONGEST_TEXT)
    .refine((text) => {
      const url = URL.parse(text);
      return url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && url.hostname !== '' && url.pathname.length > 1;
    })
    .transform((value) => new Secret(value))
    .meta({ allowed: 'an address such as postgres://user:password@host:5432/database', secret: true });
}

/** Names, each with a role and a token; no part is ever shown. */
export function people(shortest: number) {
  const name = z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9._-]{0,39}$/)
    .refine((text) => !RESERVED_NAMES.includes(text));
  const entry = z.strictObject({
    role: z.enum(roles),
    token: secret(shortest),
    expires_at: z.iso
      .datetime({ offset: true })
      .transform((text) => Date.parse(text))
      .nullable()
      .default(null),
  });
  return z
    .record(name, entry)
    .refine((named) => Object.keys(named).length <= MOST_PEOPLE)
    .meta({
      allowed: `names of letters, digits, \`.\`, \`_\` and \`-\` (not ${RESERVED_NAMES.join(' or ')}), at most ${MOST_PEOPLE}, each with a \`role\` (${roles.join(', ')}), a \`token\` of ${shortest} to ${LONGEST_TEXT} characters or a \`token_file\` that holds it, and \`expires_at\` if it ends, such as 2026-12-31T00:00:00Z`,
      secret: true,
      entry_secrets: ['token'],
    });
}

/** More than one installation has; each alert is stored once for each. */
const MOST_RECEIVERS = 20;

/** Names, each with a URL to post to, a secret and kinds of incidents; no part is ever shown, as a URL may hold a key. */
export function alertReceivers(shortest: number) {
  const entry = z.strictObject({
    url: z
      .string()
      .max(LONGEST_TEXT)
      .refine((text) => hasNoCredentials(text))
      .transform((value) => new Secret(value)),
    secret: secret(shortest).nullable().default(null),
    kinds: z
      .array(z.enum(incidentKinds))
      .min(1)
      .default([...conditionKinds]),
  });
  return z
    .record(z.string().regex(/^[a-z][a-z0-9-]{0,39}$/), entry)
    .refine((named) => Object.keys(named).length <= MOST_RECEIVERS)
    .meta({
      allowed: `names of lower-case letters, digits and \`-\`, at most ${MOST_RECEIVERS}, each with a \`url\` or a \`url_file\` that holds it, a \`secret\` of ${shortest} to ${LONGEST_TEXT} characters or a \`secret_file\`, and \`kinds\` (${incidentKinds.join(', ')}; without them the first ${conditionKinds.length})`,
      secret: true,
      entry_secrets: ['url', 'secret'],
    });
}

/** A setting that may be left out: null, or an empty variable. */
export function orNull<Kind extends z.ZodType>(kind: Kind) {
  const facts = factsOf(kind);
  return kind.nullable().meta({ ...facts, allowed: `${facts.allowed}, or nothing` });
}

/** @throws TypeError for a schema that was not made here, which says nothing of what it allows. */
export function factsOf(kind: z.core.$ZodType): KindFacts {
  const { allowed, ...facts } = z.globalRegistry.get(kind) ?? {};
  if (typeof allowed !== 'string') throw new TypeError('every setting is made of a kind that says what it allows');
  return { ...facts, allowed };
}

function isBaseUrl(text: string): boolean {
  if (!hasNoCredentials(text)) return false;
  return !/[?#]/.test(text);
}

function hasNoCredentials(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text) || /\s/.test(text)) return false;
  // `https://@host` parses to an empty user name, so the authority is checked too.
  return !(/^[a-z]+:\/\/[^/?#]*@/i.test(text) || url.username !== '' || url.password !== '');
}

function withoutSlash(text: string): string {
  return text.replace(/\/+$/, '');
}
