/** Verification of the whole audit chain: page by page, and against a head stored elsewhere (P16). */
import { describe, expect, it } from 'vitest';
import { type Language, loadWords } from '../../../src/locales/words.ts';
import { changeOf, verifyAuditStream } from '../../../src/ops/audit.ts';
import { changeSaid } from '../../../src/ops/console/parts.ts';
import { html } from '../../../src/ops/html.ts';
import { noteTables } from '../../../src/ops/tables.ts';
import { AUDIT_GENESIS, type AuditLine, chainHash } from '../../../src/proxy/audit.ts';
import { lanePorts } from '../../proxy/routing/lane-ports.ts';
import { openHarness } from '../../store/sqlite/kit.ts';

function chainOf(length: number): AuditLine[] {
  const lines: AuditLine[] = [];
  for (let sequence = 1; sequence <= length; sequence += 1) {
    const entry = {
      sequence,
      at: sequence,
      who: 'ana',
      action: 'stage',
      subject: '1',
      reason: `r${sequence}`,
      detail: {},
    };
    lines.push({ ...entry, hash: chainHash(lines.at(-1)?.hash ?? AUDIT_GENESIS, entry) });
  }
  return lines;
}

/** Pages of a chain as a store returns them, and the page sizes requested. */
function paged(lines: AuditLine[]) {
  const asked: number[] = [];
  return {
    asked,
    auditsAfter: async (sequence: number, limit: number) => {
      asked.push(limit);
      return lines.filter((line) => line.sequence > sequence).slice(0, limit);
    },
  };
}

const markOf = ({ sequence, hash }: AuditLine) => ({ sequence, hash });

describe('an intact chain', () => {
  it.each([0, 1, 199, 200, 201, 400, 1234])('of %i lines is read in pages of one size to its end', async (length) => {
    const lines = chainOf(length);
    const store = paged(lines);
    const last = lines.at(-1);
    const head = last === undefined ? null : markOf(last);
    const report = { intact: true, lines: length, head, expected: null, broken: null };
    expect(await verifyAuditStream(store)).toEqual(report);
    expect(new Set(store.asked)).toEqual(new Set([200]));
    if (head !== null) expect(await verifyAuditStream(store, head)).toEqual({ ...report, expected: head });
  });
});

describe('the first broken link is told', () => {
  const lines = chainOf(450);
  it.each<[string, AuditLine[], number, RegExp]>([
    ['a changed first line', lines.with(0, { ...chainOf(1)[0], who: 'eve' } as AuditLine), 1, /line 1 is not what/],
    ['a changed line', lines.map((line) => (line.sequence === 300 ? { ...line, reason: 'x' } : line)), 300, /not what/],
    ['a missing line', lines.filter(({ sequence }) => sequence !== 200), 201, /line 200 is missing/],
    ['a missing beginning', lines.slice(3), 4, /line 1 is missing/],
    [
      'a hash of its own',
      lines.map((line) => (line.sequence === 7 ? { ...line, hash: 'f'.repeat(64) } : line)),
      7,
      /7/,
    ],
  ])('%s', async (_what, told, sequence, reason) => {
    const report = await verifyAuditStream(paged(told));
    expect(report).toMatchObject({ intact: false, broken: { sequence, reason: expect.stringMatching(reason) } });
    expect(report.lines, 'what holds before it').toBe(Math.min(sequence - 1, report.head?.sequence ?? 0));
  });
});

describe('with a head that was noted elsewhere', () => {
  const lines = chainOf(30);
  const noted = markOf(lines[24] as AuditLine); // a chain of thirty has line 25

  it('a cut-off end shows, though what is left is a chain', async () => {
    expect(await verifyAuditStream(paged(lines.slice(0, 20)))).toMatchObject({ intact: true, lines: 20 });
    expect(await verifyAuditStream(paged(lines.slice(0, 20)), noted)).toMatchObject({
      intact: false,
      lines: 20,
      broken: { sequence: 21, reason: expect.stringContaining('lines 21 to 25 are gone') },
    });
    expect(await verifyAuditStream(paged([]), noted)).toMatchObject({ intact: false, broken: { sequence: 1 } });
  });

  it('a chain that was rewritten shows, though every link of it holds', async () => {
    const forged = chainOf(3);
    for (const line of lines.slice(3)) {
      const entry = { ...line, who: 'eve' };
      forged.push({ ...entry, hash: chainHash(forged.at(-1)?.hash ?? '', entry) });
    }
    expect(await verifyAuditStream(paged(forged))).toMatchObject({ intact: true, lines: 30 });
    expect(await verifyAuditStream(paged(forged), noted)).toMatchObject({
      intact: false,
      broken: { sequence: 25, reason: expect.stringContaining('rewritten') },
    });
  });
});

describe('what a line changed', () => {
  const move = { before: { stage: 'canary', share: 5 }, after: { stage: 'orders', share: 0 } };
  const told = (action: string, detail: AuditLine['detail'], language: Language) => {
    return String(html`${changeSaid(loadWords()[language], changeOf({ action, detail }))}`);
  };

  it.each<[string, AuditLine['detail'], [en: string, es: string, pt: string]]>([
    ['backup', { sha256: 'ab' }, ['', '', '']],
    ['stage', {}, ['', '', '']],
    ['stage', { before: 'of no form', after: ['either'] }, ['', '', '']],
    ['stage', move, ['canary at 5 % → orders', 'de canario al 5 % a orders', 'de canário em 5 % para orders']],
    [
      'stage',
      { before: { qr: { stage: 'legacy', share: 0 } }, after: { qr: { stage: 'canary', share: 2.5 } } },
      ['QR: legacy → canary at 2.5 %', 'QR: de legacy a canario al 2.5 %', 'QR: de legacy para canário em 2.5 %'],
    ],
    ...(['rollback', 'stage'] as const).map((action): [string, AuditLine['detail'], [string, string, string]] => [
      action, // lines of earlier versions have the action of a move
      { before: { stage: 'orders', share: 0 }, after: { stage: 'legacy', share: 0 }, rollback: true },
      ['rolled back: orders → legacy', 'revertido: de orders a legacy', 'revertido: de orders para legacy'],
    ]),
    [
      'stage',
      { before: { units_in: ['point:A', 'point:B'] }, after: { units_in: ['point:B', 'point:C'] } },
      [
        'units on orders by name: point:C added; units on orders by name: point:A removed',
        'unidades en orders por nombre: se agrega point:C; unidades en orders por nombre: se quita point:A',
        'unidades em orders por nome: acrescenta point:C; unidades em orders por nome: retira point:A',
      ],
    ],
    [
      'merchant settings',
      {
        before: { capture: null },
        after: { capture: true, notice_url: 'https://a.example/k' },
        secrets: ['credential'],
      },
      [
        'capture: the default → on; notice URL: the default → https://a.example/…; credential: set anew or removed',
        'captura: de valor por defecto a activado; URL de los avisos: de valor por defecto a https://a.example/…; credencial: cambiado o quitado',
        'captura: de valor padrão para ativado; URL dos avisos: de valor padrão para https://a.example/…; credencial: trocado ou retirado',
      ],
    ],
    [
      'safety stop',
      { kind: 'intents', before: { stage: 'orders' }, after: { stage: 'shadow' } },
      ['intents: orders → shadow', 'intenciones: de orders a sombra', 'intenções: de orders para sombra'],
    ],
    [
      'move proposed',
      { target: { stage: 'canary', share: 10, kind: 'qr' } },
      ['to canary at 10 % (QR)', 'a canario al 10 % (QR)', 'para canário em 10 % (QR)'],
    ],
    [
      'judge difference',
      { signature: 'ab12', before: { state: 'new' }, after: { state: 'fixed', accepted_until: null } },
      [
        'difference ab12: new → fixed',
        'diferencia ab12: de nueva a arreglada',
        'diferença ab12: de nova para consertada',
      ],
    ],
    [
      'brown-out aborted',
      { before: null, after: { from: 0, until: 1, aborted_at: 0 } },
      [
        'ended at 1970-01-01 00:00:00 UTC',
        'terminado el 1970-01-01 00:00:00 UTC',
        'encerrado em 1970-01-01 00:00:00 UTC',
      ],
    ],
  ])('%s %j is told in three languages', (action, detail, [en, es, pt]) => {
    expect((['en', 'es', 'pt'] as const).map((one) => told(action, detail, one))).toEqual([en, es, pt]);
  });
});

it('two processes that start with other tables at once write one line about them', async () => {
  const harness = await openHarness();
  const silent = { send: async () => ({ kind: 'not_sent' as const, cause: 'nobody is there' }) };
  const ports = lanePorts({ store: harness.store, upstreams: { orders: silent, legacy: silent } });
  const changed = { ...ports, tables: { ...ports.tables, revision: 'another-revision' } };
  await Promise.all([noteTables(changed), noteTables(changed)]);
  expect(await harness.store.audit.auditsOf({ action: 'tables' }, 9)).toHaveLength(1);
  await harness.dispose();
});
