/** A look at the database server of a Puente that is not running: nothing is changed. */
import { Client } from 'pg';
import { PuenteError } from '../../error.ts';
import { textOf } from './failure.ts';
import { locationOf, refuseSettings } from './prepare.ts';

/**
 * Asks the server for the settings that promises rest on.
 * @param url with the password, which no answer shows.
 * @returns where it is, and what is wrong with it; null when nothing is. Never throws.
 */
export async function examineServer(
  url: string,
  connect_timeout_ms: number,
): Promise<{ location: string; wrong: string | null }> {
  const location = locationOf(url);
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: connect_timeout_ms,
    application_name: 'puente doctor',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await refuseSettings(client, location);
    return { location, wrong: null };
  } catch (error) {
    const wrong =
      error instanceof PuenteError ? error.message : `The database ${location} can't be reached: ${textOf(error)}.`;
    return { location, wrong };
  } finally {
    await client.end().catch(() => undefined);
  }
}
