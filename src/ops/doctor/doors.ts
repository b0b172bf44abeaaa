/** The doctor's checks of the doors: public address, encryption, certificate, and access to the ops door. */
import { isEnough } from '../api/person.ts';
import { DAY_MS } from '../fields.ts';
import { about, type Doors, durationText, type Finding } from './finding.ts';

/** Operators need some time to make and distribute a new certificate. */
const CERTIFICATE_WARNING_MS = 21 * DAY_MS;

/** @param now epoch ms. */
export function doorFindings(doors: Doors, now: number): Finding[] {
  const people = opsPeople(doors, now);
  if (doors.is_sandbox) return [...certificate(doors, now), people];
  return [publicAddress(doors.public), ...encryption(doors), ...certificate(doors, now), people];
}

function publicAddress({ url, listens_on }: Doors['public']): Finding {
  if (url === null)
    return about('public address').warning(
      `public.url is not set: notices of QR sales send receivers to ${listens_on}.`,
      'Set public.url (PUENTE_PUBLIC_URL) to the address by which tills, the vendor and receivers reach this door, such as https://puente.shop.example',
    );
  if (url.startsWith('https:')) return about('public address').fine(url);
  return about('public address').warning(
    `It is ${url}: tokens and sales cross the network in clear.`,
    'Let TLS reach this door, and set public.url (PUENTE_PUBLIC_URL) to its https address',
  );
}

function encryption({ public: door, certificate }: Doors): Finding[] {
  if (certificate !== null || door.is_loopback) return [];
  return [
    about('public door').warning(
      `It speaks plain HTTP on ${door.listens_on}, which other hosts can reach: tokens cross the network in clear.`,
      'Set public.tls.certificate_file and public.tls.key_file; or let only a TLS proxy reach it, with public.host: 127.0.0.1',
    ),
  ];
}

function certificate({ certificate, public: door }: Doors, now: number): Finding[] {
  if (certificate === null) return [];
  const { file, names, until } = certificate;
  const it = about('door certificate');
  const renew = `Put a new one in the place of ${file}, then restart Puente, which reads it at its start`;
  if (until === null) return [it.problem(`${file} can't be read as a certificate.`, renew)];
  const left_ms = until - now;
  if (left_ms <= 0) return [it.problem(`${file} has ended ${durationText(-left_ms)} ago.`, renew)];
  if (left_ms < CERTIFICATE_WARNING_MS) return [it.warning(`${file} ends in ${durationText(left_ms)}.`, renew)];
  const host = door.url === null ? null : new URL(door.url).hostname;
  if (host !== null && !names.some((one) => covers(one, host)))
    return [
      it.note(
        `It is for ${names.join(', ') || 'no host name'}, and not for ${host}, which public.url names: clients of that name get a certificate that is not for it.`,
        `Add the name ${host} to the certificate, unless a proxy in front terminates TLS for it`,
      ),
    ];
  return [it.fine(`for ${names.join(', ')}, ${durationText(left_ms)} left`)];
}

/** A `*` matches one label. */
function covers(pattern: string, host: string): boolean {
  if (!pattern.startsWith('*.')) return pattern.toLowerCase() === host;
  return host.slice(host.indexOf('.')) === pattern.slice(1).toLowerCase();
}

function opsPeople({ ops, is_sandbox }: Doors, now: number): Finding {
  const it = about('ops door');
  if (ops.people.length === 0)
    return is_sandbox
      ? it.fine('a token is made at each start')
      : it.problem(
          'No token is set, so every call is refused: no move, no rollback, no report.',
          'Set ops.token_file to a file that `umask 077; openssl rand -base64 32 > FILE` made, or PUENTE_OPS_TOKEN; then restart Puente',
        );
  const ended = ops.people.filter(({ expires_at }) => expires_at !== null && expires_at <= now);
  if (ended.length > 0)
    return it.warning(
      `The token of ${ended.map((one) => one.name).join(', ')} has ended.`,
      'Give a new one under ops.tokens, or take the name away; then restart Puente',
    );
  const approvers = ops.people.filter(({ role }) => isEnough(role, 'approver')).length;
  if (ops.second_approver && (approvers === 0 || ops.people.length < 2))
    return it.warning(
      'moves.second_approver requires a second person, and there is no second approver: no move forward can be made.',
      'Name an approver more under ops.tokens, or set moves.second_approver to false; then restart Puente',
    );
  return it.fine(`for ${ops.people.map((one) => `${one.name} (${one.role})`).join(', ')}`);
}
