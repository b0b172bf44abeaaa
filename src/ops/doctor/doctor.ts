/** `puente doctor`: looks at everything that promises rest on, and says what to repair. */

import type { Runtime } from '../../proxy/runtime.ts';
import { PARKED_EVENTS_LIMIT } from '../../proxy/store.ts';
import type { Assumption } from '../report/report.ts';
import { doorFindings } from './doors.ts';
import { type Finding, type FindingLevel, findingLevels, fine } from './finding.ts';
import type { Installation, SettingInForce, Versions } from './installation.ts';
import { type MerchantCheck, merchantFindings } from './merchants.ts';
import { storageFindings } from './storage.ts';
import { surroundingFindings } from './surroundings.ts';

export interface DoctorReport {
  /** The worst of the findings. */
  level: FindingLevel;
  versions: Versions & { store: string };
  findings: Finding[];
  settings: SettingInForce[];
  assumptions: Assumption[];
}

/** One look at everything; it reads the whole database file, and calls each upstream once. */
export async function examine(
  runtime: Runtime,
  installation: Installation,
  check: MerchantCheck,
): Promise<DoctorReport> {
  const { store, clock } = runtime;
  const [condition, integrity, backups, probes] = await Promise.all([
    store.condition(),
    store.integrity(),
    store.backups(),
    installation.probe(),
  ]);
  const now = clock.now();
  const from = condition.gap?.from ?? now;
  const unmatched = await store.unmatchedEvents(PARKED_EVENTS_LIMIT);
  const facts = {
    condition,
    integrity,
    is_healthy: store.healthy(),
    backups,
    unmatched_since_gap: unmatched.filter(({ received_at }) => received_at >= from).length,
    now,
  };
  const findings = [
    fine('versions', `Puente ${installation.versions.puente} on Node ${installation.versions.node}`),
    ...storageFindings(facts, installation),
    ...surroundingFindings(probes, installation, now),
    ...doorFindings(installation.doors, now),
    ...(await merchantFindings(runtime, check)),
  ];
  return {
    level: worstOf(findings),
    versions: { ...installation.versions, store: condition.engine },
    findings,
    settings: installation.settings,
    assumptions: installation.assumptions,
  };
}

export function worstOf(findings: readonly Finding[]): FindingLevel {
  const worst = Math.max(0, ...findings.map(({ level }) => findingLevels.indexOf(level)));
  return findingLevels[worst] ?? 'ok';
}
