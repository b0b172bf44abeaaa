/** `puente migrate-store` on the settings in force: which file, which server, and that the secret key is theirs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../config/config.ts';
import { PuenteError } from '../error.ts';
import { createVault } from '../proxy/vault.ts';
import { type TransferNews, type TransferOutcome, transferStore } from '../store/transfer/transfer.ts';
import { armedFailpoint } from './armed.ts';
import { keyMarkOf } from './open-store.ts';
import { secretKey } from './runtime.ts';

/** @throws PuenteError bad_setting without `postgres.url`, and whatever the transfer refuses. */
export function migrateStore(
  env: NodeJS.ProcessEnv,
  cwd: string,
  { is_ahead, tell }: { is_ahead: boolean; tell: (news: TransferNews) => void },
): Promise<TransferOutcome> {
  const config = loadConfig({ env, cwd });
  const { url, connect_timeout_ms } = config.postgres;
  if (url === null)
    throw new PuenteError(
      'bad_setting',
      'postgres.url is not set: set PUENTE_POSTGRES_URL to the empty database that the rows are to be carried to, such as postgres://puente:password@db.example:5432/puente',
    );
  const file = join(config.data_dir, 'puente.db');
  if (!existsSync(file))
    throw new PuenteError(
      'bad_setting',
      `data_dir: there is no ${file}; set PUENTE_DATA_DIR to the data directory of the installation`,
    );
  const key_mark = keyMarkOf(createVault(secretKey(config, [])));
  const failpoint = armedFailpoint(env, config);
  return transferStore({ file, url, connect_timeout_ms, key_mark, is_ahead, now: Date.now, tell, failpoint });
}
