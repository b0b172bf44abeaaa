/** What the doctor is told of this installation. */
import { join } from 'node:path';
import { assumptionsOf } from '../config/assumptions.ts';
import type { Config } from '../config/config.ts';
import { settingsInForce } from '../config/in-force.ts';
import type { Installation } from '../ops/doctor/installation.ts';
import { probeUpstream } from '../ops/doctor/probe.ts';
import type { Clock } from '../proxy/runtime.ts';
import { version } from '../version.ts';
import { doorsOf } from './doors.ts';
import { backupEvery_ms } from './open-store.ts';

/** @param urls base URLs of the upstreams as they are in force. */
export function installationOf(
  config: Config,
  urls: { orders: string; legacy: string },
  clock: Pick<Clock, 'now'>,
): Installation {
  const { orders, legacy } = urls;
  return {
    get settings() {
      return settingsInForce(config);
    },
    get assumptions() {
      return assumptionsOf(config);
    },
    versions: { puente: version, node: process.versions.node },
    probe: () =>
      Promise.all([
        probeUpstream('orders', orders, clock),
        ...(legacy === orders ? [] : [probeUpstream('legacy', legacy, clock)]),
      ]),
    is_sandbox: config.upstream === 'sandbox',
    get doors() {
      return doorsOf(config);
    },
    has_webhook_secret: config.webhook.secret !== null,
    disk: config.store,
    backup_every_ms: backupEvery_ms(config),
    backup_directory: config.backup.directory ?? join(config.data_dir, 'backups'),
  };
}
