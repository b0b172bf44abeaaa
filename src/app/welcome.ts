/** The text of a start: URLs of the listeners, where the ops token is set, and next steps. */
import { type Config, sourcesOf } from '../config/config.ts';
import { hasNoPeople } from '../config/contradictions.ts';
import { isEnough } from '../ops/api/person.ts';
import { aligned, launcher, quoted } from '../ops/cli/next-steps.ts';
import { USUAL_OPS_URL } from '../ops/cli/ops-client.ts';
import type { Secret } from '../proxy/vault.ts';
import type { Sandbox } from '../sandbox/server.ts';

/** Facts of a running Puente for its start text. */
export interface Started {
  /** How tills reach the public door. */
  public_url: string;
  /** The address at which it listens. */
  own_url: string;
  ops_url: string;
  /** Where probes are answered beside the ops door; null: only there. */
  health_url: string | null;
  /** The sole owner's token; null when `ops.token` is not set and none was generated. */
  ops_token: Secret | null;
  /** True when this start generated the token, so that it has to be printed. */
  ops_token_made: boolean;
  /** Set while the upstream is the sandbox. */
  sandbox: Sandbox | null;
  /** Decisions of the start, as sentences for the operator. */
  remarks: readonly string[];
}

/** Steps of a start, in order: load the program, read settings, prove tables, open store, sandbox and doors. */
export type StartStep = 'program' | 'settings' | 'tables' | 'store' | 'sandbox' | 'doors';

/** Times a start: call `ended` after each step; `took` then gives the total and the duration of each step. */
interface StartWatch {
  ended(step: StartStep): void;
  /** `1.42 s: program 0.61, settings 0.12, …`, from the start of the process. */
  took(): string;
}

/** @param now ms since the start of the process. */
export function watchStart(now: () => number): StartWatch {
  const steps: string[] = [];
  let before = 0;
  return {
    ended(step) {
      steps.push(`${step} ${seconds(now() - before)}`);
      before = now();
    },
    took: () => `${seconds(before)} s: ${steps.join(', ')}`,
  };
}

function seconds(duration_ms: number): string {
  return (duration_ms / 1_000).toFixed(2);
}

/** A first merchant and terminal of the sandbox, for the call that the start prints. */
const FIRST_CALL = {
  merchant: '700100200',
  token: 'APP_USR-4004001-112026-00000000000000000000000000000a01-700100200',
  device: 'PAX_A910__SMARTPOS0000000001',
};

/** The whole text. Its only possible token is one generated at this start. @param took from `StartWatch`. */
export function welcome(config: Config, started: Started, took: string): string {
  const { sandbox } = started;
  const lines = [
    'Puente is ready.',
    `  public door   ${started.public_url}      tills, and POST /webhooks/orders`,
    ...(config.public.url === null ? [] : [`  listening on  ${listensOn(config, started)}`]),
    `  ops door      ${started.ops_url}      the console for a browser; /api /metrics /healthz /readyz`,
    ...(started.health_url === null ? [] : [`  health door   ${started.health_url}      /healthz /readyz alone`]),
    `  ops token     ${whereTokenLies(config, started)}`,
    `  upstream      ${sandbox === null ? config.upstream : `the sandbox, ${sandbox.url}`}`,
    ...(sandbox === null ? [] : [`  sandbox       profile ${sandbox.world.profile} (sandbox.profile)`]),
    `  legacy        ${sandbox !== null && config.legacy_upstream === 'sandbox' ? 'the sandbox' : config.legacy_upstream}`,
    `  new merchants ${config.routing.default_stage} (routing.default_stage)`,
    `  ready after   ${took}`,
    ...(config.outbound.allow_private
      ? ['  Notices may go to private and loopback addresses (outbound.allow_private).']
      : []),
    ...(sandbox?.world.settings.local_notification_urls === 'called'
      ? ['  The sandbox sends notifications to local addresses too (sandbox.local_notification_urls).']
      : []),
    ...started.remarks.map((remark) => `  ${remark}`),
    ...(sandbox === null ? nextSteps(config, started) : firstSteps(started, sandbox)),
  ];
  return `${lines.join('\n')}\n`;
}

/** The configured public URL may lead elsewhere; this is the address on this machine. */
function listensOn({ public: { host, port, tls } }: Config, { own_url }: Started): string {
  const taken = port === 0 ? new URL(own_url).port : port;
  return `${host}:${taken}, ${tls.certificate_file === null ? 'plain HTTP' : 'TLS'}`;
}

function whereTokenLies(config: Config, { ops_token, ops_token_made }: Started): string {
  const { ops } = config;
  if (ops_token_made) return `${ops_token?.reveal()}  (made at this start; set PUENTE_OPS_TOKEN to keep one)`;
  if (hasNoPeople(ops))
    return 'none is set, so that the ops door refuses every call: set PUENTE_OPS_TOKEN and start again';
  const owner = ops.token === null ? [] : [`as set by ${sourcesOf(config).get('ops.token') ?? 'the settings'}`];
  const people = Object.entries(ops.tokens).map(([name, { role }]) => `${name} (${role})`);
  const named = people.length === 0 ? [] : [`one each for ${people.join(', ')}`];
  return [...owner, ...named].join('; ');
}

/** With the sandbox: a first payment, its trace, and how to set up the real service. */
function firstSteps({ public_url, ops_url, ...started }: Started, sandbox: Sandbox): string[] {
  const path = `/point/integration-api/devices/${FIRST_CALL.device}/payment-intents`;
  // curl doesn't trust a certificate of a private authority; `-k` is safe, because the sandbox has no secrets.
  const curl = public_url.startsWith('https:') ? 'curl -sk' : 'curl -s';
  const token = started.ops_token_made ? (started.ops_token?.reveal() ?? '') : YOURS;
  const count = sandbox.assumptions;
  const { puente, is_clone } = launcher();
  return [
    '',
    'A first payment, as a legacy till would ask for it:',
    `  ${curl} ${public_url}${path} -H 'Authorization: Bearer ${FIRST_CALL.token}' -H 'Content-Type: application/json' -d '{"amount":1500,"additional_info":{"external_reference":"sale-1","print_on_terminal":true}}'`,
    'Then act as the customer at the terminal:',
    `  curl -s -X POST ${sandbox.url}/_sandbox/terminals/${FIRST_CALL.merchant}/${FIRST_CALL.device}/pay`,
    '',
    'What next, in another shell here:',
    ...exported(ops_url, token),
    ...aligned([
      [`${puente} trace sale-1`, 'the story of that payment: calls, table rows that fired, states, notices'],
      [`${puente} doctor`, DOCTOR],
      ...(is_clone ? [['npm run demo', 'a whole migration, shown in this terminal'] as const] : []),
      [`${puente} init`, 'writes the configuration of a real installation, asking for what it needs'],
    ]),
    `The sandbox makes ${count} choices, each with its source: curl -s ${sandbox.url}/_sandbox/settings`,
  ];
}

/** With a real upstream: nothing changes for a till until an operator moves its merchant. */
function nextSteps({ ops, routing }: Config, { ops_url }: Started): string[] {
  if (hasNoPeople(ops)) return [];
  const token = ops.token_file === null ? YOURS : `"$(cat ${quoted(ops.token_file)})"`;
  const mayMove = ops.token !== null || Object.values(ops.tokens).some(({ role }) => isEnough(role, 'operator'));
  const { puente } = launcher();
  const hint =
    routing.default_stage === 'legacy'
      ? 'who has called so far; nothing changes until you move a merchant'
      : `who has called so far; each starts on ${routing.default_stage}`;
  const move = [
    `${puente} stage <merchant> shadow --reason "first look"`,
    'the first move: translated on paper alone',
  ] as const;
  return [
    '',
    'What next, in another shell here:',
    ...exported(ops_url, token),
    ...aligned([
      [`${puente} doctor`, DOCTOR],
      [`${puente} merchants list`, hint],
      [`${puente} can-migrate <merchant>`, 'what is in the way of its next move'],
      ...(mayMove ? [move] : []),
    ]),
  ];
}

const DOCTOR = 'what is missing, each with its repair';
/** Placeholder for a token that an operator has set. */
const YOURS = "'your ops token'";

function exported(ops_url: string, token: string): string[] {
  return [
    `  export PUENTE_OPS_TOKEN=${token}`,
    ...(ops_url === USUAL_OPS_URL ? [] : [`  export PUENTE_OPS_URL=${ops_url}`]),
  ];
}
