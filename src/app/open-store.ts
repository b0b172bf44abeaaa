/** Opens the store that the settings name, with its options. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig } from '../config/config.ts';
import { PuenteError } from '../error.ts';
import type { MigrateStore } from '../ops/cli/store.ts';
import type { Store } from '../ops/ports.ts';
import type { Clock } from '../proxy/clock.ts';
import type { Log } from '../proxy/log.ts';
import type { Room } from '../proxy/records/upkeep.ts';
import type { Metrics } from '../proxy/telemetry/telemetry.ts';
import { createVault, type Vault } from '../proxy/vault.ts';
import { openSqliteStore } from '../store/sqlite/store.ts';
import { armedFailpoint } from './armed.ts';
import { type AppParts, secretKey } from './ports.ts';

interface StoreParts {
  clock: Clock;
  log: Log;
  vault: Vault;
  metrics: Metrics;
}

/** @param remarks printed at the start. @throws PuenteError store_unusable. */
export async function openStore(
  config: Config,
  parts: AppParts,
  around: StoreParts,
  remarks: string[],
): Promise<Store> {
  const { clock, vault } = around;
  const sealing = { key_mark: keyMarkOf(vault), cover_key: vault.coverKey(), now: clock.now };
  const failpoint = parts.failpoint === undefined ? {} : { failpoint: parts.failpoint };
  const { url, ...server } = config.postgres;
  if (url !== null) {
    // The client of a database server is imported only where one is configured.
    const { openPostgresStore } = await import('../store/postgres/store.ts');
    return openPostgresStore({ url, ...server, ...sealing, ...failpoint });
  }
  const path = join(config.data_dir, 'puente.db');
  if (!existsSync(path)) remarks.push(`A new database was made: ${path}.`);
  return openSqliteStore({ path, create: true, ...sealing, ...failpoint, ...fileOptions(config, parts, around) });
}

/** Identifies the secret key that a store's values were sealed with. */
function keyMarkOf(vault: Vault): string {
  return vault.keyed('key-check', 'puente');
}

/** Null: no schedule; backups of a database server are made by that server. */
export function backupEvery_ms({ postgres, backup }: Config): number | null {
  return postgres.url === null ? backup.every_ms : null;
}

function fileOptions(config: Config, parts: AppParts, { log, vault, metrics }: StoreParts) {
  const { free_bytes, max_pages, onFatal, beginWriter } = parts;
  return {
    sealNoticeUrl: (url: string) => vault.seal(url, 'notice-url'),
    ...(config.backup.directory === null ? {} : { backup_directory: config.backup.directory }),
    disk: { ...config.store, ...(free_bytes === undefined ? {} : { free_bytes }) },
    onRoom: tellRoom(log, metrics),
    ...(max_pages === undefined ? {} : { max_pages }),
    ...(onFatal === undefined ? {} : { onFatal }),
    ...(beginWriter === undefined ? {} : { beginWriter }),
  };
}

/** Reports every change of room on the disk, improvements too. */
function tellRoom(log: Log, metrics: Metrics): (room: Room) => void {
  return ({ level, is_log_large, free_bytes, log_bytes }) => {
    metrics.count('disk_changes', is_log_large ? 'log_large' : level);
    if (level === 'enough') log.warn('the disk has room again', { action: level, count: free_bytes ?? 0 });
    else log.error('the disk is nearly full: new sales are refused', { action: level, count: free_bytes ?? 0 });
    if (is_log_large)
      log.error('the write-ahead log can not be emptied: something reads the file', { count: log_bytes });
  };
}

// `puente migrate-store`: file, server and secret key come from the settings in force.

/** @throws PuenteError bad_setting without `postgres.url` or the file, and the errors of the transfer. */
export async function migrateStore(
  env: NodeJS.ProcessEnv,
  cwd: string,
  { is_ahead, tell }: Parameters<MigrateStore>[0],
): ReturnType<MigrateStore> {
  const config = loadConfig({ env, cwd });
  const { url, connect_timeout_ms } = config.postgres;
  if (url === null)
    throw new PuenteError(
      'bad_setting',
      'postgres.url is not set: set PUENTE_POSTGRES_URL to the empty database that the rows are copied to, such as postgres://puente:password@db.example:5432/puente',
    );
  const file = join(config.data_dir, 'puente.db');
  if (!existsSync(file))
    throw new PuenteError(
      'bad_setting',
      `data_dir: there is no ${file} that this user may see; set PUENTE_DATA_DIR to the data directory of the installation, and run this as its user`,
    );
  const key_mark = keyMarkOf(createVault(secretKey(config, [])));
  const failpoint = armedFailpoint(env, config);
  const { transferStore } = await import('../store/transfer/transfer.ts');
  return transferStore({ file, url, connect_timeout_ms, key_mark, is_ahead, now: Date.now, report: tell, failpoint });
}
