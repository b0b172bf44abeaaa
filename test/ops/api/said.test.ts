/** Each refusal of the ops door has the code and facts of its sentences, and is translated whole into each language. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Said } from '../../../src/error.ts';
import { loadWords } from '../../../src/locales/words.ts';
import { html, saysAll } from '../../../src/ops/html.ts';
import { storeFailed } from '../../../src/store/engine.ts';
import { ANA, ARGENTINA, BEN, BRAZIL, CHILE, EVA, MEXICO, URUGUAY } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { type MovesBench, startMoves } from '../moves/kit.ts';

const SOURCES = join(import.meta.dirname, '../../..', 'src');

/** Sources outside the ops door: files that commands read, calls of tills, and faults of Puente. */
const OTHERS =
  /^(?:proxy\/(?:http\/|upstream\/|shadow\/|sales\/(?:create|settle|new-link|room))|ops\/(?:cli\/|capture\/|report\/diff|doctor\/))/;

const words = loadWords();
const why = { reason: 'a test asks for it' };
const NOW = Date.now();
const hour = (number: number): string => new Date(NOW + number * 3_600_000).toISOString();

const bench = openForAll(() => startMoves());

interface Refusal {
  message: string;
  said?: Said[];
}

/** The codes of a refusal, after checking that each translation leaves nothing in English. */
async function codesOf({ message, said = [] }: Refusal): Promise<string[]> {
  for (const own of [words.es, words.pt]) {
    const text = String(html`${saysAll(own, message, said)}`);
    // Only the system's cause (such as `ENOENT`) stays, marked as English.
    const unmarked = text.replace(/<span lang="en">E[A-Z]+<\/span>/, '');
    expect([message, unmarked.includes('lang="en"'), text === message]).toEqual([message, false, false]);
  }
  return said.map(({ code }) => code);
}

async function refusedAs(...asked: Parameters<MovesBench['as']>): Promise<string[]> {
  const { status, body } = await bench.as(...asked);
  expect(status).toBeGreaterThan(399);
  return codesOf(body as Refusal); // shape of every refusal (`errors.ts`)
}

describe('a refusal tells its codes', () => {
  it('of a bulk move', async () => {
    const items = (...merchants: string[]): object[] => merchants.map((merchant_id) => ({ merchant_id }));
    const start = (target: object, rest: object): Promise<string[]> =>
      refusedAs(BEN, 'POST', '/api/bulk', { target, ...why, ...rest });
    expect(await start({ stage: 'shadow', override: true }, { items: items(CHILE) })).toEqual(['refusal.bulk_role']);
    expect(await start({ stage: 'shadow' }, { where: { stage: 'orders' } })).toEqual(['refusal.nobody_selected']);
    expect(await start({ stage: 'shadow' }, { items: items(CHILE, CHILE) })).toEqual(['refusal.named_twice']);
    expect(await start({}, { items: items(CHILE) })).toEqual(['refusal.no_stage_for']);
    expect(await refusedAs(ANA, 'GET', '/api/bulk/unknown')).toEqual(['refusal.no_bulk']);
    const ask = { target: { stage: 'shadow' }, items: items(URUGUAY, MEXICO), per_day: 1, new: true, ...why };
    const { id } = (await bench.as(BEN, 'POST', '/api/bulk', ask)).body as { id: string };
    await bench.as(BEN, 'POST', `/api/bulk/${id}/abort`, why);
    expect(await refusedAs(BEN, 'POST', `/api/bulk/${id}/abort`, why)).toEqual(['refusal.bulk_over']);
  });

  it('of a brown-out', async () => {
    const schedule = (from: number, until: number): Parameters<typeof refusedAs> => [
      EVA,
      'POST',
      '/api/brownouts',
      { merchants: [BRAZIL], from: hour(from), until: hour(until), new: true, ...why },
    ];
    expect(await refusedAs(...schedule(2, 1))).toEqual(['refusal.brownout_empty']);
    expect(await refusedAs(...schedule(-2, -1))).toEqual(['refusal.brownout_past']);
    expect(await refusedAs(...schedule(1, 26))).toEqual(['refusal.brownout_long']);
    const { id } = (await bench.as(...schedule(1, 2))).body as { id: string };
    expect(await refusedAs(...schedule(1, 3))).toEqual(['refusal.brownout_twice']);
    await bench.as(EVA, 'POST', `/api/brownouts/${id}/abort`, why);
    expect(await refusedAs(EVA, 'POST', `/api/brownouts/${id}/abort`, why)).toEqual(['refusal.brownout_over']);
    expect(await refusedAs(EVA, 'POST', '/api/brownouts/unknown/abort', why)).toEqual(['refusal.no_brownout']);
  });

  it('of an erase, and what holds it back', async () => {
    const erase = `/api/merchants/${ARGENTINA}/erase`;
    expect(await refusedAs(EVA, 'POST', '/api/merchants/999/erase', {})).toEqual(['refusal.nothing_held']);
    await bench.as(EVA, 'PUT', `/api/merchants/${ARGENTINA}`, { revision: 0, new: true, declined: 'error', ...why });
    expect(await refusedAs(EVA, 'POST', erase, { apply: true })).toEqual(['input.at']);
    const move = { stage: 'orders', override: true, revision: 1, ...why };
    await bench.as(EVA, 'PUT', `/api/merchants/${ARGENTINA}/stage`, move);
    const device = 'PAX_A910__SMARTPOS0000000001';
    await bench.till(`/point/integration-api/devices/${device}/payment-intents`, { body: { amount: 1500 } });
    const { body } = await bench.as(EVA, 'POST', erase, {});
    expect(body).toMatchObject({
      in_the_way: [expect.stringContaining('1 sale on orders is open')],
      in_the_way_said: [{ code: 'held_back.links', facts: { count: 1 } }],
    });
    const refused = await refusedAs(EVA, 'POST', erase, { apply: true, ...why });
    expect(refused).toEqual(['refusal.not_erased', 'held_back.links']);
  });

  it('of a role that is not enough, with the reason for it', async () => {
    expect(await refusedAs(BEN, 'POST', '/api/merchants/1/erase', {})).toEqual(['refusal.role']);
  });

  it('of what the door itself refuses', async () => {
    expect(await refusedAs(ANA, 'GET', '/api/nothing')).toEqual(['refusal.no_operation']);
    expect(await refusedAs(ANA, 'GET', '/api/exchanges/unknown')).toEqual(['refusal.no_call']);
    expect(await refusedAs(ANA, 'POST', '/api/notices/unknown/replay', '{')).toEqual(['refusal.role']);
    expect(await refusedAs(BEN, 'POST', '/api/bulk', '{')).toEqual(['refusal.unreadable']);
  });

  it('of a store that is away', async () => {
    for (const failure of ['constraint', 'full', 'busy', 'gone', 'fatal', 'failed'] as const)
      expect(await codesOf(storeFailed(failure, 'ECONNREFUSED') as unknown as Refusal)).toEqual(['store.failed']);
  });
});

describe('a refusal of the ops door', () => {
  it('is never thrown as a text without a code', () => {
    const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
      .map((name) => name.replaceAll('\\', '/'))
      .filter((path) => /^(?:proxy|ops)\/.*\.ts$/.test(path) && !OTHERS.test(path));
    // Codes of answers to callers; other errors end the start or are logged.
    const bare =
      /new PuenteError\(\s*'(?:bad_request|refused|not_found|conflict|unauthorized|forbidden|too_many)',\s*['"`]/;
    const found = files.filter((path) => bare.test(readFileSync(join(SOURCES, path), 'utf8')));
    expect([files.length > 100, found]).toEqual([true, []]);
  });
});
