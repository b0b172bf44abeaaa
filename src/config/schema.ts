/** Every setting with its kind; defaults and reasons are in `config/default.yaml` only. */
import { z } from 'zod';
import { languages } from '../locales/words.ts';
import {
  dialects,
  pointPaymentNotices,
  qrNotices,
  safetyModes,
  stages,
  unknownPolicies,
} from '../proxy/routing/merchant.ts';
import {
  alertReceivers,
  baseUrl,
  choice,
  databaseUrl,
  flag,
  forInit,
  line,
  listeningPort,
  milliseconds,
  orNull,
  path,
  people,
  secret,
  targetUrl,
  unknownPolicy,
  wholeNumber,
} from './kinds.ts';

/** Shorter keys can be guessed; 32 characters have 128 bits even in hexadecimal. */
export const SHORTEST_KEY = 32;
/** A shorter bearer token can be guessed through the door, a shorter secret of alerts from one of them. */
const SHORTEST_TOKEN = 16;
/** The vendor's secrets are longer; this only catches placeholders. */
const SHORTEST_WEBHOOK_SECRET = 8;
/** Tills give up at 10 s (`docs/field-notes.md` Point §4.3); an answer must leave before. */
const DEADLINE_LIMIT_MS = 9999;
/** Upstream forgets keys after 24 h; the cap stays well below (`docs/protocol.md` §3.5). */
const REPEAT_LIMIT_MS = 20 * 3_600_000;
/** A point order expires after 30 s to 3 h (`docs/field-notes.md` Spec Limits). */
const ORDER_LIFETIME_MS = { least: 30_000, most: 3 * 3_600_000 };

/** The vendor's API, which tills were written for. */
export const VENDOR_URL = 'https://api.mercadopago.com';

const host = () => line('an IP address or a host name');
const secretFile = () => orNull(path('a file'));
const pemFile = (what: string) => orNull(path(`${what} in PEM`));

export const settings = z.strictObject({
  upstream: forInit(
    z.union([z.literal('sandbox'), baseUrl()]).meta({
      allowed: '`sandbox`, or a base URL such as https://host.example without credentials, query or fragment',
    }),
    {
      option: ['--upstream <url>', `base URL of the orders API (usual: ${VENDOR_URL})`],
      question: 'Base URL of the orders API?',
    },
  ),
  legacy_upstream: forInit(orNull(baseUrl()), {
    option: ['--legacy-upstream <url>', 'base URL of the legacy API (usual: as --upstream)'],
    question: 'Base URL of the legacy API, where all else goes?',
  }),
  data_dir: forInit(path('a directory'), {
    option: ['--data-dir <directory>', 'where the database is (usual: `data` beside the configuration)'],
    question: 'Folder of the file (empty: beside the configuration)?',
    is_optional: true,
  }),
  secret_key: forInit(orNull(secret(SHORTEST_KEY)), {
    file: 'the key that seals stored secrets; keep a copy apart from the data, because no backup opens without it',
  }),
  secret_key_file: secretFile(),
  public: z.strictObject({
    host: forInit(host(), {
      option: ['--public-host <address>', 'where to listen (usual: 0.0.0.0 with a certificate, else 127.0.0.1)'],
      question: 'Address to listen on (0.0.0.0: all)?',
    }),
    port: forInit(listeningPort(), {
      option: ['--public-port <port>', 'port to listen on (usual: 443 with a certificate, else 8080)'],
      question: 'Port to listen on?',
    }),
    url: forInit(orNull(baseUrl()), {
      option: ['--public-url <url>', 'how tills and the vendor reach Puente; needed with --yes'],
      question: 'How do tills and the vendor reach Puente, such as https://puente.shop.example?',
    }),
    tls: z.strictObject({
      certificate_file: forInit(pemFile('a certificate chain'), {
        option: ['--tls-certificate <file>', 'certificate chain, PEM; without it Puente speaks plain HTTP'],
        question: 'File of the certificate chain, PEM?',
      }),
      key_file: forInit(pemFile('a private key'), {
        option: ['--tls-key <file>', 'private key of the certificate, PEM'],
        question: 'File of its private key, PEM?',
      }),
    }),
    body_limit_bytes: wholeNumber(1024, 1_048_576, 'bytes'),
    headers_timeout_ms: milliseconds(100, 600_000),
    request_timeout_ms: milliseconds(100, 600_000),
    keep_alive_timeout_ms: milliseconds(100, 600_000),
    write_timeout_ms: milliseconds(1000, 600_000),
    header_limit_bytes: wholeNumber(2048, 65_536, 'bytes'),
    max_connections: wholeNumber(1, 100_000),
    max_requests_per_connection: wholeNumber(1, 1_000_000),
  }),
  limits: z.strictObject({
    calls: wholeNumber(1, 100_000, 'calls'),
    unknown_calls: wholeNumber(1, 100_000, 'calls'),
    merchant_calls: wholeNumber(1, 100_000, 'calls'),
    merchant_per_second: wholeNumber(1, 1_000_000, 'calls'),
    lag_ms: milliseconds(50, 600_000),
  }),
  ops: z.strictObject({
    host: host(),
    port: forInit(listeningPort(), { question: "Port of the operators' door?" }),
    hosts: z
      .array(z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/))
      .max(32)
      .meta({ allowed: 'a list of at most 32 host names in lower case, without ports' }),
    token: forInit(orNull(secret(SHORTEST_TOKEN)), { file: 'the token of the ops door' }),
    token_file: secretFile(),
    tokens: people(SHORTEST_TOKEN),
    tokens_file: secretFile(),
  }),
  health: z.strictObject({ host: host(), port: orNull(listeningPort()) }),
  sandbox: z.strictObject({
    host: host(),
    port: listeningPort(),
    profile: choice(['specification', 'field']),
    local_notification_urls: choice(['not_called', 'called']),
    keeps_world: flag(),
    /** Passed on unchanged; the sandbox checks its own settings. */
    settings: z.record(z.string(), z.unknown()).meta({ allowed: 'a list of names and values' }),
  }),
  routing: z.strictObject({
    /** Canary needs a share or units, which only a merchant has. */
    default_stage: choice(
      stages.filter((stage) => stage !== 'canary') as [(typeof stages)[number], ...string[]] as [
        'legacy',
        'shadow',
        'orders',
      ],
    ),
    canary_salt: line('a text of one line'),
    legacy_hold_ms: milliseconds(1000, 30 * 86_400_000),
  }),
  mappings: z.strictObject({ folder: orNull(path('a directory')) }),
  moves: z.strictObject({
    gate: choice(['enforce', 'advise']),
    second_approver: flag(),
    window: orNull(line('days, hours and time zone, as in Mon-Fri 09:00-17:00 America/Sao_Paulo')),
    bulk_per_day: wholeNumber(1, 100_000, 'moves'),
    min_sample: wholeNumber(1, 100_000, 'calls'),
    proposal_kept_ms: milliseconds(60_000),
  }),
  safety: z.strictObject({
    window_ms: milliseconds(1000, 86_400_000),
    min_sample: wholeNumber(1, 100_000, 'calls'),
    fault_share: wholeNumber(1, 100, 'percent'),
    slow_ms: milliseconds(10, 600_000),
    slow_share: wholeNumber(1, 100, 'percent'),
  }),
  shadow: z.strictObject({
    queue: wholeNumber(0, 1_000_000, 'calls'),
    queue_bytes: wholeNumber(0, 1_073_741_824, 'bytes'),
    double_reads: flag(),
  }),
  evidence: z.strictObject({
    queue: wholeNumber(1, 1_000_000, 'exchanges'),
    batch_ms: milliseconds(1, 60_000),
    kept_ms: z
      .int()
      .min(3_600_000)
      .max(3_660 * 86_400_000)
      .meta({ allowed: 'a whole number of milliseconds from 3600000 to 316224000000' }),
    messages_kept_ms: z
      .int()
      .min(60_000)
      .max(3_660 * 86_400_000)
      .meta({ allowed: 'a whole number of milliseconds from 60000 to 316224000000' }),
  }),
  store: z.strictObject({
    low_bytes: wholeNumber(0, 1_099_511_627_776, 'bytes'),
    ballast_bytes: wholeNumber(0, 1_073_741_824, 'bytes'),
    log_limit_bytes: wholeNumber(33_554_432, 1_099_511_627_776, 'bytes'),
  }),
  workers: wholeNumber(1, 256, 'processes'),
  postgres: z.strictObject({
    url: forInit(orNull(databaseUrl()), {
      option: ['--postgres', 'keep everything on the PostgreSQL server that PUENTE_POSTGRES_URL names'],
      question:
        'Address of the database, such as postgres://puente:password@db.example:5432/puente?sslmode=verify-full',
      file: 'the address of the database, with its password',
    }),
    url_file: secretFile(),
    connections: wholeNumber(1, 1000, 'connections'),
    connect_timeout_ms: milliseconds(100, 60_000),
    statement_timeout_ms: milliseconds(100, 60_000),
  }),
  backup: z.strictObject({
    directory: orNull(path('a directory')),
    every_ms: orNull(milliseconds(1000)),
    keep: wholeNumber(1, 10_000, 'backups'),
  }),
  retention: z.strictObject({
    links_ms: wholeNumber(360 * 86_400_000, 3_660 * 86_400_000, 'milliseconds'),
    notices_ms: wholeNumber(86_400_000, 3_660 * 86_400_000, 'milliseconds'),
    sums_ms: wholeNumber(86_400_000, 3_660 * 86_400_000, 'milliseconds'),
  }),
  merchants: z.strictObject({
    declined: choice(['error', 'finished']),
    cancel_on_terminal: flag(),
    voucher: choice(['refuse', 'drop']),
    dialect: choice(dialects),
    qr_notices: choice(qrNotices),
    point_payment_notices: choice(pointPaymentNotices),
    notice_url: forInit(orNull(targetUrl()), {
      option: ['--notify <url>', 'where notices of merchants without a URL of their own go'],
      question: 'Notice URL of merchants without their own? (empty: their notices wait until one is set)',
      is_optional: true,
    }),
    safety_stop: choice(safetyModes),
    unknown_endpoint: unknownPolicy(unknownPolicies),
    unknown_write: unknownPolicy(['refuse', 'allow']),
    unknown_field: unknownPolicy(unknownPolicies),
    unknown_header: unknownPolicy(unknownPolicies),
    capture: flag(),
  }),
  create: z.strictObject({
    deadline_ms: milliseconds(100, DEADLINE_LIMIT_MS),
    attempt_timeout_ms: milliseconds(50, DEADLINE_LIMIT_MS),
    attempts: wholeNumber(1, 10),
    replay_window_ms: milliseconds(0, REPEAT_LIMIT_MS),
    join_window_ms: milliseconds(0, 3_600_000),
    settle_after_ms: milliseconds(0, 3_600_000),
    unclaimed: choice(['cancel-unclaimed', 'adopt']),
    default_lifetime_ms: milliseconds(ORDER_LIFETIME_MS.least, ORDER_LIFETIME_MS.most),
  }),
  reads: z.strictObject({
    fresh_ms: milliseconds(0, 60_000),
    timeout_ms: milliseconds(50, DEADLINE_LIMIT_MS),
    search_fresh_ms: milliseconds(0, 60_000),
    pos_fresh_ms: milliseconds(0, 86_400_000),
  }),
  tokens: z.strictObject({ accepted_for_ms: milliseconds(1000), kept_for_ms: milliseconds(1000) }),
  reconcile: z.strictObject({
    point_interval_ms: milliseconds(10, 3_600_000),
    qr_interval_ms: milliseconds(10, 3_600_000),
    max_interval_ms: milliseconds(10, 86_400_000),
    concurrency: wholeNumber(1, 256),
    calls_per_second: wholeNumber(10, 10_000, 'calls'),
    action_required_grace_ms: milliseconds(0, 86_400_000),
    sweep_per_second: wholeNumber(0, 1000, 'orders'),
    sweep_age_ms: milliseconds(60_000),
  }),
  notices: z.strictObject({
    timeout_ms: milliseconds(50, 120_000),
    horizon_ms: orNull(milliseconds(60_000, 366 * 86_400_000)),
    concurrency: wholeNumber(1, 1000),
    per_host: wholeNumber(1, 100),
    source_news_ipn: choice(['ipn', 'webhook']),
    user_agent: line('a text of one line'),
  }),
  alerts: z.strictObject({
    receivers: alertReceivers(SHORTEST_TOKEN),
    receivers_file: secretFile(),
    language: choice(languages),
    allow_private: flag(),
  }),
  outbound: z.strictObject({
    allow_private: flag(),
    allow_http: flag(),
    ports: z
      .array(z.int().min(1).max(65535))
      .min(1)
      .max(64)
      .meta({ allowed: 'a list of 1 to 64 ports from 1 to 65535' }),
  }),
  webhook: z.strictObject({
    secret: forInit(orNull(secret(SHORTEST_WEBHOOK_SECRET)), {
      option: ['--webhook-secret', 'take the secret of the order webhook from PUENTE_WEBHOOK_SECRET'],
      question: "Secret of the application's order webhook, from the vendor's panel? (empty: later)",
      is_optional: true,
      file: "proves the vendor's events",
    }),
    secret_file: secretFile(),
    unverified: choice(['read', 'refuse']),
    waiting_limit: wholeNumber(100, 10_000_000, 'events'),
  }),
  upstream_pool: z.strictObject({
    connections: wholeNumber(1, 4096),
    connect_timeout_ms: milliseconds(50, 60_000),
    breaker_failures: wholeNumber(0, 10_000, 'calls'),
    breaker_probe_ms: milliseconds(10, 60_000),
    breaker_steady_ms: milliseconds(0, 600_000),
  }),
  log: z.strictObject({ level: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']) }),
  shutdown: z.strictObject({ farewell_ms: milliseconds(0, 600_000), grace_ms: milliseconds(0, 600_000) }),
});

export type Settings = z.output<typeof settings>;

export interface Leaf {
  /** Names from the outside in: `['public', 'tls', 'key_file']`. */
  path: readonly string[];
  kind: z.core.$ZodType;
}

/** In the order of the schema. */
export function leaves(section: z.ZodObject = settings, above: readonly string[] = []): Leaf[] {
  return Object.entries(section.shape).flatMap(([name, kind]) => {
    const path = [...above, name];
    return kind instanceof z.ZodObject ? leaves(kind, path) : [{ path, kind }];
  });
}

/** The environment variable of a setting: `public.port` is `PUENTE_PUBLIC_PORT`. */
export function variableOf(path: readonly string[]): string {
  return `PUENTE_${path.join('_').toUpperCase()}`;
}
