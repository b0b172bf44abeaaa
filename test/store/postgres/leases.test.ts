/** Timeouts of a store's heartbeat, and the time after which a silent store loses its leases. */
import { describe, expect, it } from 'vitest';
import { beatLimits, HEARTBEAT_MS, SILENT_SECONDS } from '../../../src/store/postgres/leases.ts';
import { ANSWER_GRACE_MS } from '../../../src/store/postgres/pool.ts';
import { SECOND_TRY_AFTER_MS } from '../../../src/store/postgres/reader.ts';

describe('the limits of a beat', () => {
  it('leave time for a second try, however long other work may take', () => {
    const { connect_timeout_ms, statement_timeout_ms } = beatLimits({
      connect_timeout_ms: 60_000,
      statement_timeout_ms: 60_000,
    });
    const one_try = connect_timeout_ms + statement_timeout_ms + ANSWER_GRACE_MS;
    expect(HEARTBEAT_MS + one_try + SECOND_TRY_AFTER_MS + one_try).toBeLessThan(SILENT_SECONDS * 1_000);
  });

  it('leave the third beat a free connection where both tries of the first one are stuck', () => {
    const { connect_timeout_ms, statement_timeout_ms } = beatLimits({
      connect_timeout_ms: 60_000,
      statement_timeout_ms: 60_000,
    });
    const answer = statement_timeout_ms + ANSWER_GRACE_MS;
    const over = HEARTBEAT_MS + answer + SECOND_TRY_AFTER_MS + connect_timeout_ms + answer;
    expect(over).toBeLessThan(3 * HEARTBEAT_MS);
  });

  it('are no longer than those of the store', () => {
    const short = { connect_timeout_ms: 300, statement_timeout_ms: 200 };
    expect(beatLimits(short)).toEqual(short);
  });
});
