/** The limitations that a call has met: each kind of fact, and the facts of a condition together. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Counted } from '../../../src/mapping/limitations.ts';
import { loadTables } from '../../../src/mapping/load.ts';
import { type JudgedCall, limitationsMet, nothingFound, recordedOf } from '../../../src/proxy/evidence/findings.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';

const tables = loadTables(join(import.meta.dirname, '../../..', 'mappings'));
const CREATE = 'qr.put_order';
const call: JudgedCall = {
  lane: 'orders',
  operation: CREATE,
  status: 204,
  error: null,
  upstream: [],
  fired: [],
  losses: [],
  limitations: [],
};
const refusal = { status: 409, error: 'in_store_order_pending' };
const loss = { table: 'qr.create.request', path: 'body.items[7].description', why: 'Items of orders have none.' };
const asked = (name: string, status: number | null, code: string | null = null) => ({
  name,
  status,
  code,
  duration_ms: 1,
});

function meets(counted: Counted, change: Partial<JudgedCall> = {}, operations = [CREATE]): boolean {
  const one = { id: 'LIM-99', title: '', effect: '', workaround: '', operations, counted };
  return limitationsMet({ operations: tables.operations, limitations: [one] }, { ...call, ...change }).length === 1;
}

describe('a call meets a limitation', () => {
  it('on the orders lane alone, by one of its operations, and where it can be counted by calls', () => {
    const counted: Counted = [{ ok: true }];
    expect(meets(counted, { lane: 'legacy' })).toBe(false);
    expect(meets(counted, { operation: null })).toBe(false);
    expect(meets(counted, { operation: 'gone.since' }, ['gone.since'])).toBe(false);
    expect(meets(counted, {}, ['qr.cancel_order'])).toBe(false);
    expect(meets({ unseen: 'No call tells anything of it.' })).toBe(false);
    expect(meets({ notices: 'point' })).toBe(false);
    expect(meets(counted)).toBe(true);
  });

  it.each<[string, Counted, Partial<JudgedCall>, boolean]>([
    ['ok: a refusal', [{ ok: true }], refusal, false],
    ['ok: 2xx', [{ ok: true }], { status: 299 }, true],
    ['not ok: 2xx', [{ ok: false }], {}, false],
    ['not ok: a fault', [{ ok: false }], { status: 504 }, true],
    ['errors: another code of the same status', [{ errors: ['order_locked'] }], refusal, false],
    ['errors: the same code with another status', [{ errors: ['order_in_doubt'] }], { ...refusal, status: 400 }, false],
    ['errors: one of them', [{ errors: ['order_locked', 'order_in_doubt'] }], refusal, true],
    ['rows: another one', [{ rows: ['qr.create.request#5'] }], { fired: ['qr.create.request#55'] }, false],
    ['rows: one of them', [{ rows: ['a#1', 'a#2'] }], { fired: ['a#2'] }, true],
    ['without: it fired', [{ without: ['a#1', 'a#2'] }], { fired: ['a#2'] }, false],
    ['without: it did not', [{ without: ['a#1'] }], { fired: ['a#2'] }, true],
    ['losses: the list around it', [{ losses: ['body.items'] }], { losses: [loss] }, false],
    ['losses: of any element', [{ losses: ['body.items[].description'] }], { losses: [loss] }, true],
    ['upstream: not asked', [{ upstream: [{ name: 'cancel' }] }], { upstream: [asked('create', 201)] }, false],
    [
      'upstream: no answer',
      [{ upstream: [{ name: 'cancel', status: '2xx' }] }],
      { upstream: [asked('cancel', null)] },
      false,
    ],
    [
      'upstream: another class',
      [{ upstream: [{ name: 'cancel', status: '2xx' }] }],
      { upstream: [asked('cancel', 409)] },
      false,
    ],
    [
      'upstream: one of two',
      [{ upstream: [{ name: 'cancel' }, { name: 'create' }] }],
      { upstream: [asked('cancel', 200)] },
      false,
    ],
    [
      'upstream: another code',
      [{ upstream: [{ name: 'create', codes: ['b'] }] }],
      { upstream: [asked('create', 400, 'a')] },
      false,
    ],
    [
      'upstream: no code',
      [{ upstream: [{ name: 'create', codes: ['b'] }] }],
      { upstream: [asked('create', 400)] },
      false,
    ],
    [
      'upstream: both of them',
      [
        {
          upstream: [
            { name: 'cancel', status: '2xx' },
            { name: 'create', status: '4xx', codes: ['a', 'b'] },
          ],
        },
      ],
      { upstream: [asked('cancel', 200), asked('create', 400, 'b')] },
      true,
    ],
    [
      'unasked: asked',
      [{ unasked: ['refund', 'payment_search'] }],
      { upstream: [asked('payment_search', null)] },
      false,
    ],
    ['unasked: others asked', [{ unasked: ['refund'] }], { upstream: [asked('get', 200)] }, true],
    ['noted: another mark', [{ noted: true }], { limitations: ['LIM-98'] }, false],
    ['noted: its mark', [{ noted: true }], { limitations: ['LIM-98', 'LIM-99'] }, true],
    ['all facts of a condition', [{ ok: true, noted: true }], { ...refusal, limitations: ['LIM-99'] }, false],
    ['any condition', [{ ok: true, noted: true }, { errors: ['order_in_doubt'] }], refusal, true],
  ])('%s', (_name, counted, change, met) => {
    expect(meets(counted, change)).toBe(met);
  });
});

it('a recorded exchange has all that it met, and no mark that its operation does not count', () => {
  const made = newExchange({ ...call, losses: [loss], fired: ['qr.create.request#1'] });
  const seen = { ...made, limitations: ['LIM-11', 'LIM-29'] };
  expect(recordedOf(tables, seen, nothingFound).limitations).toEqual(['LIM-25', 'LIM-27', 'LIM-29']);
  expect(recordedOf(tables, { ...seen, lane: 'legacy' }, nothingFound).limitations).toEqual([]);
});
