/** What a log line may hold: a message and fields of the allow list, as one line of JSON (`test/faults/README.md` F132 to F134). */
import { describe, expect, it } from 'vitest';
import type { LogFields } from '../../../src/proxy/log.ts';
import { createLog } from '../../../src/proxy/telemetry/log.ts';

/** The lines that one warning becomes. */
function written(fields: LogFields, level = 'info'): string[] {
  const lines: string[] = [];
  createLog(level, { write: (line) => void lines.push(line) }).warn('something', fields);
  return lines;
}

function fieldsOf(fields: LogFields): unknown {
  const { level, time, ...rest } = JSON.parse(written(fields).join('')) as Record<string, unknown>;
  return rest;
}

describe('a log line', () => {
  it('has the fields of the list and no other, whatever it is handed', () => {
    const handed = { merchant: '700100200', status: 409, token: 'APP_USR-1', body: { amount: 1500 }, headers: {} };
    expect(fieldsOf(handed)).toEqual({ merchant: '700100200', status: 409, msg: 'something' });
  });

  it('masks what could be a card number, also where a merchant should stand', () => {
    const fields = { cause: 'paid with 4509953566233704 today', merchant: '4509953566233704' };
    expect(fieldsOf(fields)).toMatchObject({ cause: 'paid with [digits] today', merchant: '[digits]' });
    expect(fieldsOf({ merchant: '700100200' })).toMatchObject({ merchant: '700100200' });
  });

  it('cuts what is no sentence, and stays one line', () => {
    const [line, ...more] = written({ cause: `\r\n\u001b[31m${'x'.repeat(1000)}` });
    expect(more).toEqual([]);
    expect([...(line ?? '').trimEnd()].filter((character) => character < ' ')).toEqual([]);
    expect((JSON.parse(line ?? '') as { cause: string }).cause).toHaveLength(300);
  });

  it('is not written below its level', () => {
    expect(written({}, 'error')).toEqual([]);
    expect(written({}, 'silent')).toEqual([]);
  });
});
