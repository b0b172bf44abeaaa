/** The doctor's checks of the doors: public address, encryption, certificate, and access to the ops door. */
import { say } from '../../locales/message.ts';
import { isEnough } from '../api/person.ts';
import { DAY_MS } from '../fields.ts';
import { about, type Doors, durationSaid, type Finding } from './finding.ts';

/** Operators need some time to make and distribute a new certificate. */
const CERTIFICATE_WARNING_MS = 21 * DAY_MS;

/** @param now epoch ms. */
export function doorFindings(doors: Doors, now: number): Finding[] {
  const people = opsPeople(doors, now);
  if (doors.is_sandbox) return [...certificate(doors, now), people];
  return [publicAddress(doors.public), ...encryption(doors), ...certificate(doors, now), people];
}

function publicAddress({ url, listens_on }: Doors['public']): Finding {
  const it = about(say('check.public_address', {}));
  if (url === null)
    return it.warning(say('doctor.no_address', { address: listens_on }), say('doctor.no_address_repair', {}));
  if (url.startsWith('https:')) return it.fine(say('doctor.value', { value: url }));
  return it.warning(say('doctor.address_clear', { url }), say('doctor.address_clear_repair', {}));
}

function encryption({ public: door, certificate }: Doors): Finding[] {
  if (certificate !== null || door.is_loopback) return [];
  return [
    about(say('check.public_door', {})).warning(
      say('doctor.door_clear', { address: door.listens_on }),
      say('doctor.door_clear_repair', {}),
    ),
  ];
}

function certificate({ certificate, public: door }: Doors, now: number): Finding[] {
  if (certificate === null) return [];
  const { file, names, until } = certificate;
  const it = about(say('check.certificate', {}));
  const renew = say('doctor.certificate_repair', { file });
  if (until === null) return [it.problem(say('doctor.no_certificate', { file }), renew)];
  const left = durationSaid(Math.abs(until - now));
  if (until <= now) return [it.problem(say('doctor.certificate_ended', { file, age: left }), renew)];
  if (until - now < CERTIFICATE_WARNING_MS) return [it.warning(say('doctor.certificate_ends', { file, left }), renew)];
  const host = door.url === null ? null : new URL(door.url).hostname;
  if (host !== null && !names.some((one) => covers(one, host)))
    return [
      it.note(
        say('doctor.certificate_other', { names: names.length === 0 ? null : names, host }),
        say('doctor.certificate_other_repair', { host }),
      ),
    ];
  return [it.fine(say('doctor.certificate', { names, left }))];
}

/** A `*` matches one label. */
function covers(pattern: string, host: string): boolean {
  if (!pattern.startsWith('*.')) return pattern.toLowerCase() === host;
  return host.slice(host.indexOf('.')) === pattern.slice(1).toLowerCase();
}

function opsPeople({ ops, is_sandbox }: Doors, now: number): Finding {
  const it = about(say('check.ops_door', {}));
  if (ops.people.length === 0)
    return is_sandbox
      ? it.fine(say('doctor.token_made', {}))
      : it.problem(say('doctor.no_people', {}), say('doctor.no_people_repair', {}));
  const ended = ops.people.filter(({ expires_at }) => expires_at !== null && expires_at <= now);
  if (ended.length > 0)
    return it.warning(
      say('doctor.people_ended', { people: ended.map((one) => one.name) }),
      say('doctor.people_ended_repair', {}),
    );
  const approvers = ops.people.filter(({ role }) => isEnough(role, 'approver')).length;
  if (ops.second_approver && (approvers === 0 || ops.people.length < 2))
    return it.warning(say('doctor.no_second', {}), say('doctor.no_second_repair', {}));
  return it.fine(say('doctor.people', { people: ops.people.map((one) => `${one.name} (${one.role})`) }));
}
