/** What the doctor is told of the installation: settings, versions, and a look at each upstream; I/O is handed in. */
import type { Assumption } from '../report/report.ts';
import type { Doors } from './doors.ts';

/** A setting in force, as people may see it: secrets say only whether they are set. */
export interface SettingInForce {
  /** Dotted, as in a configuration file. */
  name: string;
  value: string;
  /** Which file or variable it comes from. */
  source: string;
}

/** One look at an upstream. */
export interface Probe {
  name: 'orders' | 'legacy';
  /** Scheme and host. */
  url: string;
  is_reached: boolean;
  /** What came back, or why nothing did. */
  says: string;
  latency_ms: number | null;
  /** TLS version; null for plain HTTP. */
  protocol: string | null;
  /** Epoch ms when its certificate ends; null without one. */
  certificate_until: number | null;
  /** Our clock minus the upstream's; null when it told no time. */
  skew_ms: number | null;
}

export interface Versions {
  puente: string;
  node: string;
}

export interface Installation {
  settings: SettingInForce[];
  assumptions: Assumption[];
  versions: Versions;
  /** Each upstream is called once. */
  probe(): Promise<Probe[]>;
  is_sandbox: boolean;
  doors: Doors;
  has_webhook_secret: boolean;
  disk: { low_bytes: number; ballast_bytes: number; log_limit_bytes: number };
  /** Null: no schedule. */
  backup_every_ms: number | null;
  backup_directory: string;
}
