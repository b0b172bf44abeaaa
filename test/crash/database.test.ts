/** The database server dies, fails over, breaks a commit or hangs: tills get the truth or an error, no sale is lost. */
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onServer } from '../engines/on-server.ts';
import { startPair } from '../engines/pair.ts';
import { type Relay, startRelay } from '../engines/relay.ts';
import { type Server, startServer } from '../store/postgres/server.ts';
import { summary } from './chain.ts';
import { killChildren } from './child.ts';
import { bundleSources } from './stand.ts';
import { runTroubles, someSales, type Trouble, type TroubledOutcome } from './trouble-chain.ts';

/** Repetitions of each trouble; for a longer proof: `CRASH_TROUBLES=200`. */
const TIMES = Number(process.env.CRASH_TROUBLES ?? 1);
const SEED = Number(process.env.CRASH_SEED ?? randomInt(1, 2 ** 31));
const LIMIT_MS = 240_000 + TIMES * 60_000;
/** Longer than the timeout of any statement. */
const SILENCE_MS = 2_500;
const HITCH_MS = 200;
const HITCHES = 5;
/** PostgreSQL ends all backends and restarts when one is killed. */
const A_BACKEND = `SELECT pid FROM pg_stat_activity WHERE application_name = 'puente' ORDER BY random() LIMIT 1`;

const outcomes: TroubledOutcome[] = [];

describe('a database in trouble under sales', { timeout: LIMIT_MS }, () => {
  let server: Server;
  let address: Relay;
  let url: string;
  beforeAll(async () => {
    await bundleSources();
    server = await startServer();
    const direct = await server.database();
    address = await startRelay(server.port);
    url = address.urlFor(direct);
  }, LIMIT_MS);
  afterAll(async () => {
    await killChildren();
    await address?.close();
    await server?.remove();
    const lines = outcomes.map((one) => `${summary(one)}; answers ${[...one.answers].map((pair) => pair.join(': '))}`);
    process.stdout.write(`${[`CRASH_SEED=${SEED}`, ...lines].join('\n')}\n`);
  });

  const again = (...troubles: Trouble[]): Trouble[] => Array.from({ length: TIMES }, () => troubles).flat();

  it('that is killed, wholly or one process of it, and starts again', async () => {
    const killed: Trouble = async (random) => {
      await server.kill();
      await pause(random.between(0, 500));
      await server.start();
    };
    const crashed: Trouble = () => server.crash(A_BACKEND);
    await expectKept('killed', again(killed, someSales, crashed), url);
  });

  it('whose commits take place and are never answered', async () => {
    const swallowed: Trouble = (random) => address.swallowCommit(random.between(0, 3));
    await expectKept('unanswered commits', again(swallowed, swallowed, swallowed, swallowed), url);
  });

  it('that says nothing for longer than it may, is slow, or cuts every connection', async () => {
    const cut: Trouble = async () => address.cut();
    const silent: Trouble = async () => {
      const goOn = address.stall();
      await pause(SILENCE_MS);
      goOn();
    };
    const slow: Trouble = async () => {
      for (let hitch = 0; hitch < HITCHES; hitch++) {
        const goOn = address.stall();
        await pause(HITCH_MS);
        goOn();
        await pause(HITCH_MS / 4);
      }
    };
    await expectKept('silent', again(silent, cut, slow), url);
  });

  it('that fails over to a standby: what was told before stands there', async () => {
    const pair = await startPair();
    try {
      await expectKept('failed over', [pair.failOver], pair.url);
    } finally {
      await pair.remove();
    }
  });

  it('that fails over to a standby nobody waited for loses what was told, and the checker sees it', async () => {
    const pair = await startPair();
    try {
      const { violations } = await runTroubles('control', SEED, onServer(pair.url), [
        pair.fallBehind,
        someSales,
        pair.failOver,
      ]);
      expect(violations.filter(({ invariant }) => invariant === 'I1')).not.toEqual([]);
    } finally {
      await pair.remove();
    }
  });
});

async function expectKept(name: string, troubles: readonly Trouble[], url: string): Promise<void> {
  const outcome = await runTroubles(name, SEED, onServer(url), [...troubles, someSales]);
  outcomes.push(outcome);
  expect(outcome.violations, `CRASH_SEED=${SEED}`).toEqual([]);
  // Sold, refused, or answered that the outcome is unknown.
  const clear = [201, 409, 503, 504];
  expect([...outcome.answers.keys()].filter((status) => status === null || !clear.includes(status))).toEqual([]);
  expect(outcome.answers.get(201)).toBeGreaterThan(0);
}
