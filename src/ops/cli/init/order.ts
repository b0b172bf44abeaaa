/** What `puente init` has to know, from options, the environment and answers; and what the process does with it. */
import { type Role, roles } from '../../api/person.ts';

/** As the process takes it: every text was checked. */
export interface InitOrder {
  into: string;
  force: boolean;
  /** Texts by setting, such as `public.port`. */
  settings: Record<string, string>;
  webhook_secret: string | null;
  postgres_url: string | null;
  people: { name: string; role: Role }[];
}

export interface InitOutcome {
  config: string;
  secrets: { path: string; about: string }[];
  kept: string[];
  token_file: string;
  missing: string[];
}

/** What only the process can do: it knows the settings, and touches files. */
export interface Installer {
  /** What is wrong with a text for a setting; null when it holds. */
  check(setting: string, text: string): string | null;
  isSecret(setting: string): boolean;
  /** What is wrong with a certificate chain and its key; null when they belong together. */
  checkPair(certificate_file: string, key_file: string): string | null;
  /** @throws PuenteError refused when a configuration is there already. */
  refuseOverwriting(order: Pick<InitOrder, 'into' | 'force'>): void;
  /** @throws PuenteError refused or bad_setting; then nothing new is there. */
  write(order: InitOrder): InitOutcome;
}

/** Only `puente init` waits for what it takes to know all settings. */
export type LoadInstaller = () => Promise<Installer>;

/** The service that tills were written for. */
export const VENDOR_URL = 'https://api.mercadopago.com';

/** A certificate is served to tills; without one something in front of Puente speaks TLS, mostly on the same machine. */
export function usualAddress(has_certificate: boolean): { host: string; port: string } {
  return has_certificate ? { host: '0.0.0.0', port: '443' } : { host: '127.0.0.1', port: '8080' };
}

export function isRole(text: string): text is Role {
  return roles.some((role) => role === text);
}
