/** What the doctor says of the doors: how they are reached, their certificate, and who may enter. */
import { isEnough } from '../api/person.ts';
import { type Doors, durationText, type Finding, fine, found } from './finding.ts';

/** Making and spreading a new one takes people a while. */
const CERTIFICATE_WARNING_MS = 21 * 86_400_000;

/** @param now epoch ms. */
export function doorFindings(doors: Doors, now: number): Finding[] {
  const people = opsPeople(doors, now);
  if (doors.is_sandbox) return [...certificate(doors, now), people];
  return [publicAddress(doors.public), ...encryption(doors), ...certificate(doors, now), people];
}

function publicAddress({ url, listens_on }: Doors['public']): Finding {
  if (url === null)
    return found(
      'warning',
      'public address',
      `public.url is not set: notices of QR sales send receivers to ${listens_on}.`,
      'Set public.url (PUENTE_PUBLIC_URL) to the address by which tills, the vendor and receivers reach this door, such as https://puente.shop.example',
    );
  if (url.startsWith('https:')) return fine('public address', url);
  return found(
    'warning',
    'public address',
    `It is ${url}: tokens and sales cross the network in clear.`,
    'Let TLS reach this door, and set public.url (PUENTE_PUBLIC_URL) to its https address',
  );
}

function encryption({ public: door, certificate }: Doors): Finding[] {
  if (certificate !== null || door.is_loopback) return [];
  return [
    found(
      'warning',
      'public door',
      `It speaks plain HTTP on ${door.listens_on}, which others reach: tokens cross the network in clear.`,
      'Set public.tls.certificate_file and public.tls.key_file; or let only what speaks TLS in front reach it, with public.host: 127.0.0.1',
    ),
  ];
}

function certificate({ certificate, public: door }: Doors, now: number): Finding[] {
  if (certificate === null) return [];
  const { file, names, until } = certificate;
  const name = 'door certificate';
  const renew = `Put a new one in the place of ${file}, then restart Puente, which reads it at its start`;
  if (until === null) return [found('problem', name, `${file} can't be read as a certificate.`, renew)];
  const left_ms = until - now;
  if (left_ms <= 0) return [found('problem', name, `${file} has ended ${durationText(-left_ms)} ago.`, renew)];
  if (left_ms < CERTIFICATE_WARNING_MS)
    return [found('warning', name, `${file} ends in ${durationText(left_ms)}.`, renew)];
  const host = door.url === null ? null : new URL(door.url).hostname;
  if (host !== null && !names.some((one) => covers(one, host)))
    return [
      found(
        'note',
        name,
        `It is for ${names.join(', ') || 'no host name'}, and not for ${host}, which public.url names: whoever calls that name here finds a foreign certificate.`,
        `Add the name ${host} to the certificate, unless something else in front answers for it`,
      ),
    ];
  return [fine(name, `for ${names.join(', ')}, ${durationText(left_ms)} left`)];
}

/** A star stands for one label. */
function covers(pattern: string, host: string): boolean {
  if (!pattern.startsWith('*.')) return pattern.toLowerCase() === host;
  return host.slice(host.indexOf('.')) === pattern.slice(1).toLowerCase();
}

function opsPeople({ ops, is_sandbox }: Doors, now: number): Finding {
  const name = 'ops door';
  if (ops.people.length === 0)
    return is_sandbox
      ? fine(name, 'a token is made at each start')
      : found(
          'problem',
          name,
          'No token is set, so that it lets nobody in: no move, no rollback, no report.',
          'Set ops.token_file to a file that `umask 077; openssl rand -base64 32 > FILE` made, or PUENTE_OPS_TOKEN; then restart Puente',
        );
  const ended = ops.people.filter(({ expires_at }) => expires_at !== null && expires_at <= now);
  if (ended.length > 0)
    return found(
      'warning',
      name,
      `The token of ${ended.map((one) => one.name).join(', ')} has ended.`,
      'Give a new one under ops.tokens, or take the name away; then restart Puente',
    );
  const approvers = ops.people.filter(({ role }) => isEnough(role, 'approver')).length;
  if (ops.second_approver && (approvers === 0 || ops.people.length < 2))
    return found(
      'warning',
      name,
      'moves.second_approver asks for a second person, and there is no approver beside the one who moves: no move forward can be made.',
      'Name an approver more under ops.tokens, or set moves.second_approver to false; then restart Puente',
    );
  return fine(name, `for ${ops.people.map((one) => `${one.name} (${one.role})`).join(', ')}`);
}
