/** API messages in the page's language: facts from tills are shown unchanged. */
import { describe, expect, it } from 'vitest';
import { type Fact, PuenteError } from '../../../src/error.ts';
import { quoted, say } from '../../../src/locales/message.ts';
import { loadWords } from '../../../src/locales/words.ts';
import { refusal } from '../../../src/ops/console/layout.ts';
import { subjectLink } from '../../../src/ops/console/parts.ts';
import { answered, html, says, saysEach, tableOf } from '../../../src/ops/html.ts';
import { rampStates } from '../../../src/ops/moves/ramp.ts';
import { routeSaid } from '../../../src/ops/moves/target.ts';
import { detailOf } from '../../../src/ops/readiness/side.ts';

const words = loadWords();

describe.each(['es', 'pt'] as const)('what the API says, in %s', (language) => {
  const told = (code: string, facts: Record<string, Fact>): string =>
    String(html`${says(words[language], 'in English', { code, facts })}`);

  it('shows each fact once and whole, also one that holds the mark of a sentence within', async () => {
    const text = told('bulk.stopped', { merchant: '7\u00000\u0000 till', why: quoted('tills stand still') });
    expect(text).toContain('7\ufffd0\ufffd till');
    expect(text.split('<span lang="en">tills stand still</span>')).toHaveLength(2);
  });

  it('says a refusal line by line, as in English', () => {
    const sentences = [say('refusal.not_moved', { merchant: '7' }), say('refusal.try', { command: 'puente doctor' })];
    const refused = new PuenteError('refused', sentences, { between: '\n' });
    const lines = String(refusal(words[language], refused)).split('\n');
    expect(lines.filter((line) => line.includes('7') || line.includes('puente doctor'))).toHaveLength(2);
    expect(String(refusal(words.en, refused)).split('\n')).toHaveLength(lines.length);
  });

  it('marks as English what a side said in words of its own', async () => {
    const facts = { operation: 'create', count: 2, detail: '400 property_value\u0000: too long' };
    const text = told('difference.legacy_answered', facts);
    expect(text).toContain('<span lang="en">400 property_value\ufffd: too long</span>');
    expect(told('step.paper_refused_here', { error: 'bad_request', detail: null })).not.toContain('lang="en"');
  });

  it('says the reason of a row that refuses in the language, and shows what the legacy error says', async () => {
    const side =
      'refused_here 400 Additional property description is not allowed: Mexico answers 400 to a description. (point.create.request#5)';
    const text = String(html`${answered(words[language], side)}`);
    expect(text).toMatch(/Puente la rechazaría|o Puente recusaria/);
    expect(text).toMatch(/(México responde|O México responde) 400 .* \(point\.create\.request#5\)$/);
    expect(text).toContain('400 Additional property description is not allowed: ');
    expect(String(html`${answered(words[language], 'accepted')}`)).toBe('<code>accepted</code>');
    const detail = detailOf(side.slice('refused_here 400 '.length));
    expect(told('step.paper_refused_here', { error: '400', detail })).toMatch(/México responde 400/);
    expect(detailOf('amount is not valid: the legacy contract')).toBe('amount is not valid: the legacy contract');
  });

  it('says the states, calls and amounts of a trace in words of the language', async () => {
    const state = told('step.state', { state: 'DONE', order_status: 'processed', legacy_state: 'FINISHED' });
    expect(state).toMatch(/ terminada, .* processed; .* FINISHED$/);
    const refund = { state: 'DONE', sum: '1234567.50 ARS', number: '19', order: null };
    expect(told('step.refund_ended', refund)).toMatch(/ (hecha|feito), 1\.234\.567,50 ARS \(/);
    expect(told('step.refund_requested', { sum: null })).not.toContain('none');
    const asked = { name: 'users_me', status: 200, code: null, took_ms: 1 };
    expect(told('step.called', asked)).toMatch(/de quién es el token|de quem é o token/);
    const event = { action: 'order.processed', verified: true, state: 'done' };
    expect(told('step.event', event)).toContain('atendido');
  });

  it('says of a safety stop what happened: it stands in closed incidents, too', async () => {
    const text = told('incident.safety_stop', { kind: 'intents', cause: quoted('slow') });
    expect(text).toMatch(/ (volvió a|voltou para) sombra: /);
  });

  it('says of other closed incidents what they were', async () => {
    const cause = say('incident.move_waiting', { count: 1, since_at: '2026-01-05T12:00:00Z' });
    expect(told('incident.over', { cause })).toMatch(
      /^(Ya terminó; era: Un cambio|Já terminou; era: Uma mudança) esper/,
    );
  });

  it('says what two reports have beside one another', async () => {
    expect(told('compared.difference', { state: 'accepted', count: 3 })).toMatch(/^(aceptada|aceita), 3$/);
    const facts = { stage: 'shadow', share: null, stopped: false, verdict: 'ready', blockers: 1 };
    expect(told('compared.merchant', facts)).toMatch(/^sombra, (listo|pronto), 1 impedimento$/);
    const stopped = { ...facts, stage: 'canary', share: 5, stopped: true };
    expect(told('compared.merchant', stopped)).toMatch(/^can.rio 5 %, parada de segur/);
  });

  it('says stage and state in refusals of ramps in words of the language', async () => {
    const where = routeSaid({ stage: 'canary', share: 5 });
    expect(told('refusal.ramp_from', { merchant: '700100200', where })).toMatch(
      / está (en|em) (canario|canário).* 5 %:/,
    );
    const shadow = routeSaid({ stage: 'shadow', share: 0 });
    expect(told('ramp.elsewhere', { where: shadow })).toContain('sombra');
    for (const state of [...rampStates, 'expired'])
      expect(told('refusal.ramp_state', { id: '1', state })).not.toContain(state);
  });

  it('puts a sentence within in its place', async () => {
    const text = told('settled.given_up', { why: say('attempt.answered', { status: 503 }) });
    expect(text).toContain('503');
    expect(text).not.toContain('\ufffd');
    expect(text).not.toContain('\u0000');
  });

  it('says what a row of a table does, and why, in no English word', async () => {
    const parts = {
      verb: 'copy',
      source: 'body.amount',
      reads: 'body.cash',
      policy: null,
      target: 'body.total',
    } as const;
    const { text, said } = say('rule', { ...parts, converter: 'amount_text', otherwise: '0' });
    expect(text).toBe('body.amount (reads body.cash) → body.total by amount_text, otherwise 0');
    expect(told(said.code, said.facts)).toMatch(
      /^body\.amount \(l\S+ body\.cash\) → body\.total co[nm] amount_text, \D+ 0$/,
    );
    const dropped = say('rule', {
      ...parts,
      verb: 'drop',
      reads: null,
      policy: 'note',
      target: null,
      converter: null,
      otherwise: null,
    });
    expect(dropped.text).toBe('drop body.amount, note → –');
    expect(told('rule', dropped.said.facts)).toMatch(/omit.* body\.amount, .* → –$/);
  });

  it('says an advice with the reasons that tables give, each with its full stop once', async () => {
    const why = quoted('Only Brazil has a description on intents; orders limit its length');
    const todo = quoted('Keep descriptions to 150 characters; what is longer is cut.');
    const { said } = say('loss_advice', { field: 'body.description', call: 'POST /x', count: 2, why, todo });
    const text = told(said.code, said.facts);
    expect(text).toContain('body.description');
    expect(text).toMatch(/[a-z]\. Man[^.]*\.$/);
    expect(text).not.toContain('lang="en"');
  });
});

it('says times in the form that people read, in English too', () => {
  const ended = say('line.ended', { ended_at: '2026-01-31T09:00:05.123Z' });
  expect(String(html`${saysEach(words.en, ended.text, [ended.said], '; ')}`)).toBe('ended at 2026-01-31 09:00:05 UTC');
});

it('a name of a program may break behind an underscore, on pages alone', () => {
  const rows = [{ unit: 'point:NEWLAND_N950__SBX0000001' }];
  expect(String(tableOf(words.en, 'sales', rows, true))).toContain('point:NEWLAND_<wbr>N950__<wbr>SBX0000001');
  expect(String(tableOf(words.en, 'sales', rows))).toContain('point:NEWLAND_N950__SBX0000001');
});

describe('what a line of the audit trail is about', () => {
  const id = '01a207a2-3989-7f60-9918-9452f32ec57a';
  it.each([
    ['stage', '700100200', '/merchants/700100200'],
    ['settle', id, `/trace?id=${id}`],
    ['bulk move done', id, null],
    ['backup', 'puente.db', null],
  ])('%s: is a link where there is a page of it', async (action, subject, href) => {
    const text = String(html`${subjectLink(action, subject)}`);
    expect(text).toBe(href === null ? subject : `<a href="${href}">${subject}</a>`);
  });
});
