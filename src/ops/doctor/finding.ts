/** A finding of the doctor: one sentence, its level, and the repair. */
import { z } from 'zod';
import type { Sentence, Spoken } from '../../error.ts';
import { quoted, say } from '../../locales/message.ts';
import type { Person } from '../api/person.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, said } from '../fields.ts';
import type { Line } from '../report/report.ts';

/** `problem`: money or data is at risk now. `warning`: it will be, or a promise is weaker. `note`: worth knowing. */
export const findingLevels = ['ok', 'note', 'warning', 'problem'] as const;
export type FindingLevel = (typeof findingLevels)[number];

export const doctorFinding = z.object({
  name: z.string().describe('what was looked at, such as `disk`'),
  name_said: said.nullable(),
  level: z.enum(findingLevels),
  says: z.string(),
  said: said.nullable(),
  repair: z.string().nullable(),
  repair_said: said.nullable(),
});
export type Finding = z.infer<typeof doctorFinding>;

/** A text is English: of a check without a running Puente, which only a command shows. */
type Told = string | Sentence;

/** Makes the findings about one thing: fine, or what is wrong and what to do. */
export function about(thing: Told) {
  const { text: name, said: name_said } = sentenceOf(thing);
  const found =
    (level: FindingLevel) =>
    (what: Told, todo: Told | null): Finding => {
      const { text: says, said } = sentenceOf(what);
      const { text: repair, said: repair_said } = todo === null ? { text: null, said: null } : sentenceOf(todo);
      return { name, name_said, level, says, said, repair, repair_said };
    };
  return {
    fine: (what: Told): Finding => found('ok')(what, null),
    note: found('note'),
    warning: found('warning'),
    problem: found('problem'),
  };
}

function sentenceOf(told: Told): Sentence {
  return typeof told === 'string' ? quoted(told) : told;
}

/** A duration for display, in its largest unit. */
export function durationSaid(duration_ms: number): Spoken {
  const count = (unit_ms: number) => ({ count: Math.round(duration_ms / unit_ms) });
  if (duration_ms >= 2 * DAY_MS) return say('duration.days', count(DAY_MS));
  if (duration_ms >= 2 * HOUR_MS) return say('duration.hours', count(HOUR_MS));
  if (duration_ms >= 2 * MINUTE_MS) return say('duration.minutes', count(MINUTE_MS));
  return say('duration.seconds', count(1000));
}

// What the doctor gets of the installation: settings, versions, and a probe of each upstream; I/O is handed in.

export const settingInForce = z.object({
  name: z.string().describe('dotted, as in a configuration file'),
  value: z.string().describe('Secrets say only whether they are set.'),
  source: z.string().describe('which file or variable it comes from'),
});
export type SettingInForce = z.infer<typeof settingInForce>;

export interface Probe {
  name: 'orders' | 'legacy';
  /** Scheme and host. */
  url: string;
  is_reached: boolean;
  /** The status of the answer, or why there was none. */
  says: string;
  latency_ms: number | null;
  /** TLS version; null for plain HTTP. */
  protocol: string | null;
  /** Epoch ms of its certificate's expiry; null without one. */
  certificate_until: number | null;
  /** Our clock minus the upstream's; null when its answer had no date. */
  skew_ms: number | null;
}

interface Versions {
  puente: string;
  node: string;
}

export interface Installation {
  settings: SettingInForce[];
  assumptions: Line<'assumptions'>[];
  versions: Versions;
  /** Calls each upstream once. */
  probe(): Promise<Probe[]>;
  is_sandbox: boolean;
  doors: Doors;
  has_webhook_secret: boolean;
  disk: { low_bytes: number; ballast_bytes: number; log_limit_bytes: number };
  /** Null: no schedule. */
  backup_every_ms: number | null;
  backup_directory: string;
  /** Tables of one's own; null for none. */
  mappings_folder: string | null;
}

/** The doors by the settings, and the certificate as it is on the disk now. */
export interface Doors {
  is_sandbox: boolean;
  public: {
    url: string | null;
    /** Address and port. */
    listens_on: string;
    is_loopback: boolean;
  };
  /** Null: plain HTTP. */
  certificate: Certificate | null;
  ops: {
    /** Includes the owner of `ops.token`; empty when no token is set. */
    people: (Person & { expires_at: number | null })[];
    second_approver: boolean;
  };
}

export interface Certificate {
  file: string;
  names: string[];
  /** Epoch ms; null when it can't be read. */
  until: number | null;
}
