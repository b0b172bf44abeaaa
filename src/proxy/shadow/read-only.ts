/** The door between shadows and a client that can write: whatever comes through it leaves as a GET without a body. */
import { PuenteError } from '../../error.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { ReadOnlyUpstream } from './read.ts';

/** @param upstream the orders side or the legacy side; a path that is no path counts as not sent. */
export function readOnly(upstream: Upstream): ReadOnlyUpstream {
  return {
    async read({ name, path, query, token, timeout_ms }) {
      try {
        return await upstream.send({ name, method: 'GET', path, query, token, timeout_ms });
      } catch (error) {
        if (error instanceof PuenteError && error.code === 'bad_request')
          return { kind: 'not_sent', cause: error.message };
        throw error;
      }
    },
  };
}
