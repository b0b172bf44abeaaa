/** What the doctor says of the world around: upstreams, clock, webhook secret. */
import { durationText, type Finding, fine, found } from './finding.ts';
import type { Installation, Probe } from './installation.ts';

/** Events are signed with a time, and lifetimes of orders are counted with our clock. */
const MOST_SKEW_MS = 30_000;
/** A certificate that ends sooner was forgotten by somebody. */
const CERTIFICATE_WARNING_MS = 14 * 86_400_000;
/** Slower than this, a create and its retries have little of the deadline left. */
const SLOW_MS = 1_500;

/** What is judged of an installation here. */
type Judged = Pick<Installation, 'has_webhook_secret' | 'is_sandbox' | 'doors'>;

/** @param now epoch ms. */
export function surroundingFindings(probes: readonly Probe[], installation: Judged, now: number): Finding[] {
  return [...probes.map((probe) => reach(probe, now)), clock(probes), webhookSecret(installation)];
}

function reach(probe: Probe, now: number): Finding {
  const { url, says, latency_ms, protocol, certificate_until } = probe;
  const name = `upstream ${probe.name}`;
  if (!probe.is_reached)
    return found(
      'problem',
      name,
      `${url} can't be reached: ${says}.`,
      `See what \`curl -sSI ${url}\` says on this machine: name, firewall, proxy; sales on it fail until then`,
    );
  const detail = `${url} answers in ${latency_ms ?? 0} ms${protocol === null ? ', without TLS' : `, ${protocol}`}`;
  if (certificate_until !== null && certificate_until - now < CERTIFICATE_WARNING_MS)
    return found(
      'warning',
      name,
      `${detail}; its certificate ends in ${durationText(Math.max(0, certificate_until - now))}.`,
      'Tell whoever runs it: when it has ended, nothing is sent',
    );
  if (latency_ms !== null && latency_ms > SLOW_MS)
    return found('warning', name, `${detail}, which is slow.`, 'Run Puente nearer to it, or see what is in between');
  return fine(name, detail);
}

function clock(probes: readonly Probe[]): Finding {
  const skews = probes.flatMap(({ skew_ms }) => (skew_ms === null ? [] : [skew_ms]));
  const widest = skews.toSorted((a, b) => Math.abs(b) - Math.abs(a))[0];
  if (widest === undefined)
    return found(
      'note',
      'clock',
      'No upstream told its time, so nothing was compared.',
      'See that an upstream is reached, and look again; or see `timedatectl`',
    );
  const says = `${Math.round(Math.abs(widest) / 1000)} s ${widest >= 0 ? 'ahead of' : 'behind'} the upstream`;
  if (Math.abs(widest) <= MOST_SKEW_MS) return fine('clock', says);
  return found(
    'problem',
    'clock',
    `The clock is ${says}.`,
    'Set it by NTP (`timedatectl set-ntp true`): lifetimes of orders and signatures go by it',
  );
}

function webhookSecret({ has_webhook_secret, is_sandbox, doors }: Judged): Finding {
  if (has_webhook_secret) return fine('webhook secret', 'set');
  if (is_sandbox) return fine('webhook secret', 'made up with the sandbox');
  return found(
    'warning',
    'webhook secret',
    'It is not set: every event is unverified, and only leads to a read.',
    `Point the \`order\` webhook of the application in the vendor's panel at ${doors.public.url ?? 'public.url'}/webhooks/orders, put its secret into a file of mode 0600, and name that in webhook.secret_file (or set PUENTE_WEBHOOK_SECRET); then restart Puente`,
  );
}
