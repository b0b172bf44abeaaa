/** Secrets stay hidden: the type, the log, crash output, and the search for leaks (F132–F135, P9). */
import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lastWords, refuseOnlookers } from '../../src/app/discretion.ts';
import type { LogFields } from '../../src/proxy/log.ts';
import { createLog } from '../../src/proxy/telemetry/telemetry.ts';
import { anyText } from '../any-text.ts';
import { HOUSE } from '../run-cli.ts';
import { encoded, encodings, searchFor } from './canary-search.ts';

const CARD = '5031755734530604';
const TOKEN = 'APP_USR-4004001-112026-c0ffeec0ffeec0ffeec0ffeec0ffee77-700100200';
const HIDDEN = 'Canary9f3c5b7a1d2e4f60Secret8b7a6c5d4e3f2a10';
const CANARIES = { card: CARD, token: TOKEN, secret: HIDDEN };
const leaks = searchFor(CANARIES);

describe('the search for leaks', () => {
  it.each(encodings)('finds what is planted as %s, wherever it begins', (encoding) => {
    for (const [name, canary] of Object.entries(CANARIES)) {
      for (let shift = 0; shift < 4; shift++) {
        const text = `${'z'.repeat(shift)}${canary}${'z'.repeat(3 - shift)}`;
        expect(leaks(Buffer.concat([Buffer.from('<<'), encoded(text, encoding), Buffer.from('>>')]))).toContain(
          `${name} (${encoding})`,
        );
      }
    }
  });

  it('finds nothing where nothing is', () => {
    expect(leaks('5031755734530605 APP_USR-4004001-112026-00000000000000000000000000000a01-700100200 canary')).toEqual(
      [],
    );
  });
});

describe('a log line', () => {
  const written = (message: string, fields?: LogFields): string => {
    const lines: string[] = [];
    createLog('trace', { write: (line) => void lines.push(line) }).error(message, fields);
    return lines.join('');
  };

  it('is one line whatever is in its fields, and holds no control characters [F132]', () => {
    const nasty = fc.oneof(
      anyText(),
      fc
        .array(fc.constantFrom('\r', '\n', '\u001b[2J', '\u009b31m', '\u2028', '\u202e', '\0', '"', '\\', 'x'))
        .map((all) => all.join('')),
    );
    fc.assert(
      fc.property(nasty, nasty, (cause, message) => {
        const line = written(message, { cause, path: cause });
        expect(line.indexOf('\n')).toBe(line.length - 1);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
        expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/);
        expect(JSON.parse(line)).toMatchObject({ level: 50 });
      }),
      { numRuns: 300 },
    );
  });

  it.each(encodings)('has no token and no card in any text, written as %s [F133 F134]', (encoding) => {
    for (const canary of [CARD, TOKEN]) {
      const text = encoded(canary, encoding).toString('latin1');
      const json = JSON.stringify({ note: text, deeper: JSON.stringify({ note: text }) });
      for (const said of [text, `for ${text}, refused`, json, `https://u:p@shop.example/${text}?k=${text}`]) {
        const fields = { cause: said, path: said, action: said, unit: said, merchant: said, code: said, table: said };
        expect([said, leaks(written(said, fields))]).toEqual([said, []]);
      }
    }
  });
});

describe('in production', () => {
  const quiet = { is_production: true, options: ['--enable-source-maps', ''], inspector_url: undefined };

  it.each([
    '--inspect',
    '--inspect=0.0.0.0:9229',
    '--inspect-brk',
    '--inspect-wait',
    '--heap-prof',
    '--heapsnapshot-signal=SIGUSR2',
    '--heapsnapshot-near-heap-limit=1',
    '--abort-on-uncaught-exception',
  ])('%s is refused, and outside production it is not [F135]', (option) => {
    for (const options of [[option], ['--no-warnings', option], [`--no-warnings ${option} --x`]])
      expect(() => refuseOnlookers({ ...quiet, options })).toThrow(/lets others read tokens/);
    expect(() => refuseOnlookers({ ...quiet, is_production: false, options: [option] })).not.toThrow();
  });

  it('a start without such options is allowed, and an open debugger is refused [F135]', () => {
    expect(() => refuseOnlookers(quiet)).not.toThrow();
    expect(() => refuseOnlookers({ ...quiet, inspector_url: 'ws://127.0.0.1:9229/x' })).toThrow(/A debugger/);
  });

  it('the last words of a crash hold neither secret nor property [F135]', () => {
    const error = Object.assign(new Error(`sent Authorization: Bearer ${TOKEN}\nfor card ${CARD}`), { secret: HIDDEN });
    const words = lastWords(error);
    expect(leaks(words)).toEqual([]);
    expect(words).toMatch(/^Error: sent /);
    expect(words).toContain('secrets.test.ts');
    expect(leaks(lastWords(TOKEN))).toEqual([]);
  });

  it('a start under a debugger is refused, and the signal that opens one does nothing [F135]', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'puente-discreet-'));
    try {
      const refused = await run(directory, ['--inspect=127.0.0.1:0']);
      expect(refused).toMatchObject({ code: 1, out: '' });
      expect(refused.err).toContain('--inspect lets others read tokens');
      const running = await run(directory, [], 'SIGUSR1');
      expect(running.err).toBe('');
      expect(running).toMatchObject({ code: 0, out: expect.stringMatching(/ready[\s\S]*has stopped/) });
      for (const { out, err } of [refused, running]) expect(searchFor({ key: KEY })(out + err)).toEqual([]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

const KEY = 'an-invented-key-that-must-not-be-told';

/** Starts Puente as in production; once ready it gets `signal`, then SIGTERM. */
function run(
  directory: string,
  options: string[],
  signal?: NodeJS.Signals,
): Promise<{ code: number | null; out: string; err: string }> {
  const ports = { PUENTE_PUBLIC_PORT: '0', PUENTE_OPS_PORT: '0', PUENTE_SANDBOX_PORT: '0' };
  const env = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    PUENTE_DATA_DIR: directory,
    PUENTE_SECRET_KEY: KEY,
    PUENTE_LOG_LEVEL: 'silent',
    ...ports,
  };
  const child = spawn(process.execPath, [...options, join(HOUSE, 'src/main.ts')], { cwd: directory, env });
  let out = '';
  let err = '';
  let is_ready = false;
  child.stderr.on('data', (text: Buffer) => {
    err += text.toString();
  });
  child.stdout.on('data', (text: Buffer) => {
    out += text.toString();
    if (is_ready || !out.includes('Puente is ready')) return;
    is_ready = true;
    if (signal !== undefined) child.kill(signal);
    // A debugger would be reported on standard error before the process ends.
    setTimeout(() => child.kill('SIGTERM'), 300);
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })));
}
