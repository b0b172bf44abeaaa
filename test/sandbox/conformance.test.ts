/**
 * The conformance table: the sandbox's answers, call by call. Each file of `conformance/` holds groups of cases: a list
 * of steps in a new world, or `steps` with a table (`with` names the columns, `each` has a line per case). A step has
 * one act, its options and the expected answer; without a status it must succeed. In a step, `each` repeats it for
 * values of a name, `steps` runs a shared list, `$act` is the act of a column. `$name.path` is a column, a merchant or
 * till of the cast, or a value kept before. Names that begin with `_` hold shared parts.
 */
import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { parse, type ScalarTag } from 'yaml';
import { z } from 'zod';
import * as orderAnswers from '../../src/contract/legacy-point.ts';
import * as qrAnswers from '../../src/contract/legacy-qr.ts';
import * as merchantOrderAnswers from '../../src/contract/merchant-orders.ts';
import * as paymentAnswers from '../../src/contract/payments.ts';
import { profileSettings } from '../../src/sandbox/assumptions.ts';
import { openForAll } from '../open.ts';
import * as kits from './kit.ts';
import { BASE, type Heard, type Receiver, START_MS, startReceiver, UNKNOWN_ID } from './legacy/kit.ts';
import * as legacy from './legacy/qr-kit.ts';
import { payIntent, payOrder, payQr } from './payment-kit.ts';
import { OTHER_TILL, openQrKit, type QrKit, qrBody, TILL } from './qr-kit.ts';

const cast = {
  argentina: kits.ARGENTINA,
  brazil: kits.BRAZIL,
  mexico: kits.MEXICO,
  chile: kits.CHILE,
  uruguay: kits.URUGUAY,
  virtual: kits.VIRTUAL_TERMINAL,
  pax: kits.PAX_TERMINAL,
  standalone: kits.STANDALONE_TERMINAL,
  point_pro: kits.POINT_PRO,
  unknown_order: kits.UNKNOWN_ORDER,
  unknown_id: UNKNOWN_ID,
  till: TILL,
  other_till: OTHER_TILL,
  point: BASE,
  v1: legacy.v1Path(),
  v2: legacy.v2Path(),
  store: legacy.storePath(),
  codes: legacy.codePath(),
};

/** The fields of a step; exactly one of the acts. */
const acts = z.strictObject({
  call: z.string(),
  /** An order of 150.00 with its own reference and key, kept as `order`. */
  order: z.unknown(),
  qr_order: z.unknown(),
  /** The same reference and key each time. */
  create: z.unknown(),
  create_qr: z.unknown(),
  /** `point` or `qr`: an order and its buyer's `action` (usually `pay`), kept as `order`, its payment as `paid`. */
  paid: z.string(),
  /** The person at a terminal of orders or of intents, the buyer at a till, and at the newest code. */
  terminal: z.string(),
  device: z.string(),
  buyer: z.string(),
  scan: z.string(),
  settings: z.unknown(),
  fault: z.unknown(),
  profile: z.enum(['specification', 'field']),
  advance: z.number(),
  /** A part of the world's state, by its path. */
  state: z.string(),
  /** Kept as `intent`, `payment` and `order`. */
  intent: z.unknown(),
  v1: z.unknown(),
  v2: z.unknown(),
  code: z.unknown(),
  intent_payment: z.unknown(),
  qr_payment: z.unknown(),
  order_payment: z.unknown(),
  /** The URLs of notifications received since the last such step, after all in flight have arrived. */
  heard: z.literal('all'),
  answering: z.array(z.number()),
  /** Two equal values. */
  same: z.tuple([z.unknown(), z.unknown()]),
});
const words = z.strictObject({
  body: z.unknown(),
  bytes: z.array(z.number()),
  /** The owner of the token; `nobody` sends none. */
  as: z.string(),
  key: z.string(),
  headers: z.record(z.string(), z.any()),
  with: z.unknown(),
  at: z.string(),
  action: z.string(),
  changes: z.unknown(),
  reference: z.string(),
});
const answers = z.strictObject({
  /** The status, and for an error its code and its details or cause. */
  is: z.union([z.number(), z.string()]),
  says: z.unknown(),
  /** The whole body; a part of it; values by path; its top-level names in order; missing paths; its text. */
  gives: z.unknown(),
  has: z.unknown(),
  shows: z.record(z.string(), z.unknown()),
  keys: z.array(z.string()),
  lacks: z.array(z.string()),
  unlike: z.record(z.string(), z.unknown()),
  text: z.unknown(),
  /** Status and detail of an order, then of its first payment. */
  states: z.array(z.string()),
  /**
   * All notifications have a signature over this id with this secret and a time of so many digits; or none is valid.
   */
  signed: z.strictObject({ id: z.string(), secret: z.string(), digits: z.number(), fits: z.boolean() }),
  contract: z.string(),
  /** Keeps the reply under this name, or parts of its body by path. */
  save: z.string(),
  keep: z.record(z.string(), z.string()),
});
const stepSchema = acts
  .extend(words.shape)
  .extend(answers.shape)
  .partial()
  .refine((step) => Object.keys(step).filter((name) => name in acts.shape).length === 1, 'A step has one act.');
type Step = z.infer<typeof stepSchema>;
const writtenStep = z.record(z.string(), z.unknown());
const caseSchema = z.union([
  z.array(writtenStep),
  z.strictObject({ with: z.array(z.string()), each: z.array(z.array(z.unknown())), steps: z.array(writtenStep) }),
]);
const fileSchema = z.record(z.string(), z.record(z.string(), caseSchema));

const GONE = Symbol('gone');
/**
 * `!gone`: no value; `!text 65`: so many letters after a prefix; `!receipts`: so many characters of two UTF-16 units.
 */
const customTags: ScalarTag[] = [
  { tag: '!gone', resolve: () => GONE },
  { tag: '!text', resolve: (text) => text.replace(/ ?(\d+)$/, (_, length) => 'a'.repeat(Number(length))) },
  { tag: '!receipts', resolve: (length) => '🧾'.repeat(Number(length)) },
  { tag: '!re', resolve: (source) => expect.stringMatching(new RegExp(source)) },
  { tag: '!any', resolve: (name) => expect.any({ String, Number, Object }[name] ?? Boolean) },
];

/** A value with its names filled in; `{$times, $of}` repeats a member, `{$and, …}` is another object with changes. */
function filled(value: unknown, names: Record<string, unknown>): unknown {
  if (value === GONE) return undefined;
  if (typeof value === 'string') {
    const whole = /^\$([a-z]\w*)((?:\.\w+)*)$/.exec(value);
    if (whole !== null) return named(names, whole[0]);
    return value.replace(/\$[a-z]\w*(?:\.\w+)*/g, (name) => String(named(names, name)));
  }
  if (Array.isArray(value)) return value.map((member) => filled(member, names));
  if (value === null || value === undefined || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const object = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member, names)]));
  if ('$times' in object) return Array(object.$times).fill(object.$of);
  const { $and, ...changes } = object;
  return { ...Object($and), ...changes };
}

function named(names: Record<string, unknown>, name: string): unknown {
  const found = at(names, name.slice(1));
  if (found === undefined && !(name.slice(1) in names)) throw new Error(`no step before has kept ${name}`);
  return filled(found, names);
}

/** A value by path; `*` maps over the members of a list. */
function at(value: unknown, path: string): unknown {
  const [name = '', ...rest] = path === '' ? [] : path.split('.');
  if (name === '' || value === undefined || value === null) return value;
  if (name === '*') return Array.isArray(value) ? value.map((one) => at(one, rest.join('.'))) : value;
  return at((value as Record<string, unknown>)[name], rest.join('.'));
}

let keys = 0;
const kit: QrKit = openForAll(() => openQrKit({}, 'specification', () => START_MS));
const receiver: Receiver = openForAll(startReceiver);
beforeEach(async () => {
  await kit.control('POST', 'reset');
  receiver.heard.splice(0);
  receiver.statuses = [];
});

async function act(step: Step, names: Record<string, unknown>): Promise<kits.Reply> {
  const { as = kits.ARGENTINA, key, headers, action = 'pay', changes = {} } = step;
  const merchant = as === 'nobody' ? null : as;
  const options = {
    merchant,
    ...(key !== undefined && { key: key === 'new' ? `new-${++keys}` : key }),
    ...(headers !== undefined && { headers }),
  };
  const withBody = (body: unknown) => ({ ...options, body: step.bytes === undefined ? body : Buffer.from(step.bytes) });
  const control = (path: string, body: unknown, method = 'POST') =>
    kit.call(method, `/_sandbox/${path}`, { merchant: null, body });
  const act = Object.entries(step).find(([name]) => name in acts.shape);
  const wanted = Object(act?.[1]);
  switch (act?.[0]) {
    case 'order':
      return keptAs('order', await kit.createOrder(wanted, options));
    case 'qr_order':
      return keptAs('order', await kit.createQr(wanted, options));
    case 'create':
      return kit.call('POST', '/v1/orders', { key: 'k1', ...withBody(kits.orderBody(wanted)) });
    case 'create_qr':
      return kit.call('POST', '/v1/orders', { key: 'k1', ...withBody(qrBody(wanted)) });
    case 'paid': {
      const isQr = step.paid === 'qr';
      const made = await (isQr ? kit.createQr(Object(changes), options) : kit.createOrder(Object(changes), options));
      const door = isQr ? `payables/${made.body.id}` : `terminals/${as}/${kits.VIRTUAL_TERMINAL}`;
      const acted = await control(`${door}/${action}`, step.with);
      const { body } = await kit.call('GET', `/v1/orders/${made.body.id}`, { merchant });
      names.paid = body.transactions.payments?.[0] ?? body.transactions.cash_outs[0];
      return acted.status < 300 ? keptAs('order', { ...acted, body }) : acted;
    }
    case 'terminal':
      return control(`terminals/${as}/${step.at ?? kits.VIRTUAL_TERMINAL}/${step.terminal}`, step.with);
    case 'device':
      return control(`terminals/${as}/${step.at ?? kits.PAX_TERMINAL}/${step.device}`, step.with);
    case 'buyer':
      return control(`pos/${as}/${step.at ?? TILL}/${step.buyer}`, step.with);
    case 'scan':
      return control(`payables/${[...kit.sandbox.world.payables.keys()].at(-1)}/${step.scan}`, step.with);
    case 'settings':
      return control('settings', step.settings, 'PUT');
    case 'profile':
      return control('settings', profileSettings[step.profile ?? 'field'], 'PUT');
    case 'fault':
      return control('faults', { kind: 'error', ...wanted });
    case 'advance':
      return control('clock', { advance_ms: step.advance });
    case 'state': {
      const { status, body } = await control('state', undefined, 'GET');
      return { status, text: '', body: at(body, step.state ?? '') };
    }
    case 'intent': {
      const path = `${BASE}/devices/${step.at ?? kits.PAX_TERMINAL}/payment-intents`;
      return keptAs('intent', await kit.call('POST', path, withBody(step.intent)));
    }
    case 'v1':
      return kit.call('POST', step.at ?? legacy.v1Path(), withBody(legacy.preference(wanted)));
    case 'v2':
      return kit.call('PUT', step.at ?? legacy.v2Path(), withBody(legacy.storeOrder(wanted)));
    case 'code':
      return kit.call('POST', step.at ?? legacy.codePath(), withBody(legacy.storeOrder(wanted)));
    case 'intent_payment':
      return keptNumber(await payIntent(kit, Number(step.intent_payment), step.reference, action, Object(step.with)));
    case 'qr_payment':
      return keptNumber(await payQr(kit, Number(step.qr_payment), as, step.reference, Object(step.with)));
    case 'order_payment': {
      const { order, payment } = await payOrder(kit);
      names.order = { id: order };
      return keptNumber(payment);
    }
    case 'heard': {
      await kit.sandbox.world.settled();
      const heard = receiver.heard.splice(0).sort((one, other) => one.url.localeCompare(other.url));
      return { status: 200, text: '', body: heard };
    }
    case 'answering':
      receiver.statuses = step.answering ?? [];
      return { status: 200, text: '', body: null };
    case 'same':
      expect(step.same?.[0]).toEqual(step.same?.[1]);
      return { status: 200, text: '', body: null };
    default:
      return callOf(step.call ?? '');
  }

  function callOf(line: string): Promise<kits.Reply> {
    const [method = '', path = ''] = line.split(' ');
    return kit.call(method, path, withBody(step.body));
  }
  function keptAs(name: string, reply: kits.Reply): kits.Reply {
    if (reply.status < 300) {
      names[name] = reply.body;
      names.signed_id = reply.body.id.toLowerCase(); // as in signatures
    }
    return reply;
  }
  function keptNumber(payment: number): kits.Reply {
    names.payment = payment;
    return { status: 200, text: '', body: payment };
  }
}

function check(step: Step, { status, text, body }: kits.Reply, names: Record<string, unknown>): void {
  if (step.is === undefined) expect(status, text).toBeLessThan(300);
  else if (typeof step.is === 'number') expect(status, text).toBe(step.is);
  else {
    const [wanted, code = '', ...details] = step.is.trim().split(' ');
    const { errors, cause, message } = body;
    const [causeCode] = Array.isArray(cause) && /^\d+$/.test(code) ? cause.map((one) => String(one.code)) : [];
    expect([status, causeCode ?? errors?.[0]?.code ?? body.code ?? body.error]).toEqual([Number(wanted), code]);
    if (details.length > 0) expect(errors[0].details).toEqual(details);
    if (typeof body.error === 'string' && message !== undefined) expect(body.status).toBe(status);
  }
  if ('says' in step) expect(body.errors?.[0]?.message ?? body.message).toEqual(step.says);
  if ('gives' in step) expect(body).toEqual(step.gives);
  if ('has' in step) expect(body).toMatchObject(Object(step.has));
  if ('text' in step) expect(text).toEqual(step.text);
  if (step.states !== undefined) {
    const [payment] = body.transactions.payments;
    expect([body.status, body.status_detail, payment.status, payment.status_detail]).toEqual(step.states);
  }
  if (step.keys !== undefined) expect(Object.keys(body)).toEqual(step.keys);
  for (const [path, value] of Object.entries(step.shows ?? {})) expect([path, at(body, path)]).toEqual([path, value]);
  for (const path of step.lacks ?? []) expect([path, at(body, path)]).toEqual([path, undefined]);
  for (const [path, value] of Object.entries(step.unlike ?? {})) {
    expect(at(body, path)).toBeDefined();
    expect(at(body, path)).not.toEqual(value);
  }
  if (step.signed !== undefined) for (const notice of body) checkSignature(notice, step.signed);
  if (step.contract !== undefined) {
    const schema = contractOf(step.contract);
    const one = 'body' in schema.shape ? { status, body } : body;
    for (const told of step.heard === undefined ? [one] : body) {
      expect(schema.safeParse(told)).toMatchObject({ success: true });
    }
  }
  if (step.save !== undefined) names[step.save] = { status, text, body };
  for (const [name, path] of Object.entries(step.keep ?? {})) names[name] = at(body, path);
}

function checkSignature({ headers }: Heard, wanted: z.infer<typeof answers.shape.signed>): void {
  const { id, secret, digits, fits } = wanted;
  const [, ts = '', v1] = /^ts=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-signature'])) ?? [];
  const manifest = `id:${id};request-id:${headers['x-request-id']};ts:${ts};`;
  const made = createHmac('sha256', secret).update(manifest).digest('hex');
  expect(v1).toMatch(/./);
  expect([ts.length, v1 === made]).toEqual([digits, fits]);
}

function contractOf(name: string): z.ZodObject {
  const schemas = { ...orderAnswers, ...qrAnswers, ...merchantOrderAnswers, ...paymentAnswers };
  return schemas[name as 'createIntentAnswer'];
}

async function run(steps: z.infer<typeof writtenStep>[], names: Record<string, unknown>): Promise<void> {
  Object.assign(names, {
    receiver: receiver.url,
    named_receiver: receiver.url.replace('127.0.0.1', 'localhost'),
    bare_receiver: receiver.url.replace('http://', ''),
  });
  for (const { each, steps: more, ...written } of steps) {
    if (more !== undefined) {
      await run(z.array(writtenStep).parse(more), names);
      continue;
    }
    const [[name, values] = ['', [null]]] = Object.entries(Object(filled(each, names)) as Record<string, unknown[]>);
    for (const value of values) {
      if (name !== '') names[name] = value;
      const { $act, $with, ...ready } = Object(filled(written, names));
      const step = stepSchema.parse($act === undefined ? ready : { ...ready, [$act]: $with });
      const reply = await act(step, names);
      try {
        check(step, reply, names);
      } catch (error) {
        if (error instanceof Error) error.message = `${JSON.stringify(written)}\n${error.message}\n${reply.text}`;
        throw error;
      }
    }
  }
}

const folder = join(import.meta.dirname, 'conformance');
describe.each(readdirSync(folder).map((file) => basename(file, '.yaml')))('%s', (file) => {
  const text = readFileSync(join(folder, `${file}.yaml`), 'utf8');
  const { _: _shared, ...groups } = parse(text, { customTags, merge: true });
  describe.each(Object.entries(fileSchema.parse(groups)))('%s', (_group, cases) => {
    for (const [title, one] of Object.entries(cases)) {
      if (Array.isArray(one)) test(title, () => run(one, { ...cast }));
      else {
        for (const row of one.each) {
          const names = { ...cast, ...Object.fromEntries(one.with.map((name, index) => [name, row[index]])) };
          test(titleOf(title, names), () => run(one.steps, names));
        }
      }
    }
  });
});

/** The title with the columns of its row; lists and objects as JSON. */
function titleOf(title: string, names: Record<string, unknown>): string {
  return title.replace(/\$([a-z]\w*)/g, (_, name) => {
    const value = names[name];
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}
