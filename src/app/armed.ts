/** For crash tests only: arms the one failpoint at which this process kills itself. */
import type { Config } from '../config/config.ts';
import { isLoopback } from '../config/contradictions.ts';
import { PuenteError } from '../error.ts';
import { type Failpoint, failpoints, noFailpoint } from '../proxy/process-memory.ts';

/**
 * `CRASH_TEST_FAILPOINT` is a failpoint's name, or `name:n` for its n-th pass; the process then kills itself (SIGKILL).
 * @throws PuenteError bad_setting outside of tests, with an upstream on another machine, or for an unknown failpoint.
 */
export function armedFailpoint(
  environment: NodeJS.ProcessEnv,
  { upstream, legacy_upstream }: Pick<Config, 'upstream' | 'legacy_upstream'>,
): Failpoint {
  const armed = environment.CRASH_TEST_FAILPOINT;
  if (armed === undefined || armed === '') return noFailpoint;
  // An upstream on this machine may still forward to a real one, so NODE_ENV must be `test` as well.
  if (environment.NODE_ENV !== 'test' || !isHere(upstream) || !isHere(legacy_upstream)) {
    throw refused('is for crash tests alone, with NODE_ENV=test and every upstream on this machine; remove it');
  }
  const [, point, count = '1'] = /^([a-z_.]+)(?::(\d+))?$/.exec(armed) ?? [];
  const known = failpoints.find((name) => name === point);
  let left = Number(count);
  if (known === undefined || left < 1) {
    throw refused(`is ${armed}; write name or name:n with n from 1, where name is one of ${failpoints.join(', ')}`);
  }
  return (name) => {
    if (name === known && --left === 0) process.kill(process.pid, 'SIGKILL');
  };
}

function isHere(upstream: string): boolean {
  return upstream === 'sandbox' || isLoopback(new URL(upstream).hostname.replaceAll(/[[\]]/g, ''));
}

function refused(why: string): PuenteError {
  return new PuenteError('bad_setting', `CRASH_TEST_FAILPOINT ${why}`);
}
