/** The doctor's findings about the doors: each missing thing, with the setting or the command that repairs it. */
import { describe, expect, it } from 'vitest';
import { doorFindings } from '../../../src/ops/doctor/doors.ts';
import type { Doors } from '../../../src/ops/doctor/finding.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const DAY_MS = 86_400_000;
const certificate = { file: '/etc/puente/door.pem', names: ['*.shop.example'], until: NOW + 90 * DAY_MS };
const owner = { name: 'operator', role: 'approver', expires_at: null } as const;
const well: Doors = {
  is_sandbox: false,
  public: { url: 'https://puente.shop.example', listens_on: '0.0.0.0:443', is_loopback: false },
  certificate,
  ops: { people: [owner], second_approver: false },
};

type Change = { [Part in keyof Doors]?: Partial<Doors[Part]> | null | boolean };

function findings(change: Change) {
  const changed = Object.entries(change).map(([part, value]) => {
    const before = well[part as keyof Doors]; // the keys of the change
    const is_part = typeof value === 'object' && value !== null && typeof before === 'object' && before !== null;
    return [part, is_part ? { ...before, ...value } : value];
  });
  return doorFindings({ ...well, ...Object.fromEntries(changed) } as Doors, NOW); // merged over complete parts
}

it('finds nothing where all is set', () => {
  expect(findings({}).map(({ level, repair }) => [level, repair])).toEqual(Array(3).fill(['ok', null]));
  expect(findings({ is_sandbox: true, certificate: null, ops: { people: [] } })).toMatchObject([
    { name: 'ops door', level: 'ok', says: 'a token is made at each start', repair: null },
  ]);
  expect(findings({ certificate: null, public: { is_loopback: true } }).map(({ level }) => level)).toEqual([
    'ok',
    'ok',
  ]);
});

describe('names what is missing, and its repair', () => {
  it.each<[string, Change, string, string, RegExp]>([
    [
      'no public address',
      { public: { url: null } },
      'public address',
      'warning',
      /Set public\.url \(PUENTE_PUBLIC_URL\)/,
    ],
    [
      'a public address in clear',
      { public: { url: 'http://puente.shop.example' } },
      'public address',
      'warning',
      /https address/,
    ],
    ['plain HTTP for all', { certificate: null }, 'public door', 'warning', /Set public\.tls\.certificate_file and/],
    [
      'a certificate that is none',
      { certificate: { until: null } },
      'door certificate',
      'problem',
      /door\.pem, then restart/,
    ],
    [
      'a certificate that has ended',
      { certificate: { until: NOW - DAY_MS } },
      'door certificate',
      'problem',
      /door\.pem/,
    ],
    [
      'one that ends soon',
      { certificate: { until: NOW + 20 * DAY_MS } },
      'door certificate',
      'warning',
      /Put a new one/,
    ],
    [
      'one for other names',
      { certificate: { names: ['api.example', '*.puente.shop.example'] } },
      'door certificate',
      'note',
      /Add the name puente\.shop\.example/,
    ],
    ['nobody who may enter', { ops: { people: [] } }, 'ops door', 'problem', /ops\.token_file .*openssl rand/],
    [
      'a token that has ended',
      { ops: { people: [{ ...owner, expires_at: NOW }] } },
      'ops door',
      'warning',
      /take the name away/,
    ],
    ['a second person who is not there', { ops: { second_approver: true } }, 'ops door', 'warning', /Name an approver/],
  ])('%s', (_what, change, name, level, repair) => {
    const found = findings(change).filter((finding) => finding.level !== 'ok');
    expect(found).toMatchObject([{ name, level, repair: expect.stringMatching(repair) }]);
  });
});
