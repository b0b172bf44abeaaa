/** The outcome of an upstream call, step by step as by undici, and whether it was sent (`docs/protocol.md` §3.5). */
import { channel } from 'node:diagnostics_channel';
import { Client, type Dispatcher } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { Reception, type SentMark, type SentWatch, watchSending } from '../../src/proxy/upstream/reception.ts';
import { answer, onRequest, startPeer } from '../proxy/upstream/peer.ts';

const MAX_BYTES = 64;
const JSON_TYPE = { 'content-type': 'application/json' };

function secondsOf(header: string | undefined): number | null {
  return header === undefined ? null : Number(header) * 1000;
}

/** A call that undici has begun, with the messages that it aborts with. */
function begin({ sent = true, starts = true, readRetryAfter = secondsOf } = {}) {
  const mark: SentMark = { sent };
  const aborted: string[] = [];
  const controller = {
    abort: (reason: Error) => aborted.push(reason.message),
  } as unknown as Dispatcher.DispatchController; // the only method that is used
  const reception = new Reception(mark, MAX_BYTES, readRetryAfter);
  const { handler } = reception;
  if (starts) handler.onRequestStart?.(controller, null);
  return {
    mark,
    aborted,
    reception,
    start: () => handler.onRequestStart?.(controller, null),
    head: (status: number, headers: Record<string, string | string[]>) =>
      handler.onResponseStart?.(controller, status, headers, 'Status'),
    data: (bytes: string | Buffer) => handler.onResponseData?.(controller, Buffer.from(bytes)),
    end: () => handler.onResponseEnd?.(controller, {}),
    fail: (error: Error) => handler.onResponseError?.(controller, error),
  };
}

function outcomeOf(status: number, headers: Record<string, string | string[]>, ...parts: (string | Buffer)[]) {
  const call = begin();
  call.head(status, headers);
  for (const part of parts) call.data(part);
  call.end();
  return call.reception.outcome;
}

const answered = (status: number, body: unknown, retry_after_ms: number | null = null) => ({
  kind: 'answered',
  status,
  retry_after_ms,
  body,
});

async function stateOf(promise: Promise<unknown>): Promise<'open' | 'settled'> {
  return Promise.race([
    promise.then(() => 'settled' as const),
    new Promise<'open'>((turn) => setImmediate(turn, 'open')),
  ]);
}

describe('a whole answer', () => {
  it('is its status and its body, from as many parts as came', async () => {
    expect(await outcomeOf(201, JSON_TYPE, '{"id"', ':"ORD', '1"}')).toEqual(answered(201, { id: 'ORD1' }));
  });

  it('is read as UTF-8 whose letters are cut between two parts', async () => {
    const bytes = Buffer.from('{"a":"ñ"}');
    expect(await outcomeOf(200, JSON_TYPE, bytes.subarray(0, 7), bytes.subarray(7))).toEqual(answered(200, { a: 'ñ' }));
  });

  it.each([
    'application/json',
    'Application/JSON; charset=utf-8',
    ' application/json ;q=1',
    'application/problem+json',
    'application/vnd.x-1.y+json',
  ])('of the type %s is JSON', async (type) => {
    expect(await outcomeOf(200, { 'content-type': type }, '{"a":"b"}')).toEqual(answered(200, { a: 'b' }));
  });

  it('without a type is read as what it is', async () => {
    expect(await outcomeOf(200, {}, '[]')).toEqual(answered(200, []));
    expect(await outcomeOf(200, {}, '<html>')).toEqual({ kind: 'broken', cause: '200 without a JSON body' });
  });

  it('is told by the first of two types and encodings', async () => {
    expect(await outcomeOf(200, { 'content-type': ['application/json', 'text/html'] }, '[]')).toEqual(
      answered(200, []),
    );
    const doubled = { ...JSON_TYPE, 'content-encoding': ['gzip', 'identity'] };
    expect(await outcomeOf(200, doubled, '[]')).toEqual({ kind: 'broken', cause: 'the answer is compressed' });
  });

  it.each([
    'text/html',
    'text/application/json',
    'application/jsonp',
    'application/json-seq',
    'application/+json',
    'x',
  ])('that succeeded with the type %s made nothing known', async (type) => {
    const headers = { 'content-type': type };
    expect(await outcomeOf(201, headers, '{}')).toEqual({ kind: 'broken', cause: '201 without a JSON body' });
  });

  it.each([200, 201, 204, 299])('that succeeded with %d and no JSON made nothing known', async (status) => {
    expect(await outcomeOf(status, JSON_TYPE, '{"id":')).toEqual({
      kind: 'broken',
      cause: `${status} without a JSON body`,
    });
  });

  it.each([300, 302, 400, 404, 500, 503])('that did not, with %d, is one whatever it says', async (status) => {
    expect(await outcomeOf(status, { 'content-type': 'text/html' }, '{"a":1}')).toEqual(answered(status, undefined));
    expect(await outcomeOf(status, JSON_TYPE, 'half a {')).toEqual(answered(status, undefined));
    expect(await outcomeOf(status, JSON_TYPE, '{"a":"b"}')).toEqual(answered(status, { a: 'b' }));
  });

  it.each([200, 404])('with %d in an encoding that nobody asked for is none', async (status) => {
    for (const encoding of ['gzip', 'br', '', 'identity, gzip']) {
      expect(await outcomeOf(status, { ...JSON_TYPE, 'content-encoding': encoding }, '{}')).toEqual({
        kind: 'broken',
        cause: 'the answer is compressed',
      });
    }
    const plain = { ...JSON_TYPE, 'content-encoding': 'Identity' };
    expect(await outcomeOf(status, plain, '{}')).toEqual(answered(status, {}));
  });

  it('says how long to wait, by the first that says so', async () => {
    expect(await outcomeOf(429, { ...JSON_TYPE, 'retry-after': '7' }, '{}')).toEqual(answered(429, {}, 7_000));
    expect(await outcomeOf(429, { ...JSON_TYPE, 'retry-after': ['3', '9'] }, '{}')).toEqual(answered(429, {}, 3_000));
  });

  it('may be as large as the limit, and is cut when it is one byte larger [F21]', async () => {
    const full = begin();
    full.head(200, JSON_TYPE);
    full.data(`"${'x'.repeat(MAX_BYTES - 10)}`);
    full.data('12345678"');
    full.end();
    expect(full.aborted).toEqual([]);
    expect(await full.reception.outcome).toMatchObject({ kind: 'answered' });
    const over = begin();
    over.head(200, JSON_TYPE);
    over.data('x'.repeat(MAX_BYTES));
    expect(over.aborted).toEqual([]);
    over.data('y');
    expect(over.aborted).toEqual([`the answer is larger than ${MAX_BYTES} bytes`]);
  });
});

describe('a call that fails', () => {
  const named = (code: unknown): Error => Object.assign(new Error('what was received'), { code });

  it('after its bytes left is broken, before that it is not sent', async () => {
    for (const [sent, kind] of [
      [true, 'broken'],
      [false, 'not_sent'],
    ] as const) {
      const call = begin({ sent });
      call.fail(named('ECONNRESET'));
      expect(await call.reception.outcome).toEqual({ kind, cause: 'ECONNRESET' });
    }
  });

  it('before undici had begun it is not sent', async () => {
    const call = begin({ sent: false, starts: false });
    call.fail(named('ECONNREFUSED'));
    expect(await call.reception.outcome).toEqual({ kind: 'not_sent', cause: 'ECONNREFUSED' });
  });

  it('as its bytes left meanwhile is broken: the mark counts when it fails', async () => {
    const call = begin({ sent: false });
    call.mark.sent = true;
    call.fail(named('UND_ERR_SOCKET'));
    expect(await call.reception.outcome).toEqual({ kind: 'broken', cause: 'UND_ERR_SOCKET' });
  });

  it('without a code says its message', async () => {
    for (const error of [new Error('what was received'), named(7)]) {
      const call = begin();
      call.fail(error);
      expect(await call.reception.outcome).toEqual({ kind: 'broken', cause: 'what was received' });
    }
  });

  it('because it can not be written is a bad request, unless bytes have left', async () => {
    const refused = begin({ sent: false });
    refused.fail(named('UND_ERR_INVALID_ARG'));
    await expect(refused.reception.outcome).rejects.toMatchObject({
      code: 'bad_request',
      message: "The upstream call can't be written as HTTP: what was received; nothing was sent.",
    });
    const left = begin();
    left.fail(named('UND_ERR_INVALID_ARG'));
    expect(await left.reception.outcome).toEqual({ kind: 'broken', cause: 'UND_ERR_INVALID_ARG' });
  });

  it('in the middle of its answer is broken', async () => {
    const call = begin();
    call.head(201, JSON_TYPE);
    call.data('{"id":"ORD1"}');
    call.fail(named('UND_ERR_SOCKET'));
    expect(await call.reception.outcome).toEqual({ kind: 'broken', cause: 'UND_ERR_SOCKET' });
  });
});

it('a whole answer that we fail to read is an unknown outcome, keeps no connection, and holds up no other', async () => {
  const failing = begin({
    readRetryAfter: () => {
      throw new Error('a defect');
    },
  });
  const sound = begin();
  for (const call of [failing, sound]) {
    call.head(201, JSON_TYPE);
    call.data('{}');
    call.end();
  }
  expect(await failing.reception.outcome).toEqual({
    kind: 'broken',
    cause: 'the answer could not be read: Error: a defect',
  });
  await failing.reception.released;
  expect(await sound.reception.outcome).toEqual(answered(201, {}));
});

describe('a call whose time is over', () => {
  it.each([
    [true, 'broken'],
    [false, 'not_sent'],
  ])('with bytes sent: %s, is %s at once, and is ended', async (sent, kind) => {
    const call = begin({ sent });
    call.reception.cut();
    expect(await call.reception.outcome).toEqual({ kind, cause: 'timeout' });
    expect(call.aborted).toEqual(['timeout']);
  });

  it('while it waits for a connection is ended before it is written', async () => {
    const call = begin({ sent: false, starts: false });
    call.reception.cut();
    expect(await call.reception.outcome).toEqual({ kind: 'not_sent', cause: 'timeout' });
    expect(call.aborted).toEqual([]);
    call.start();
    expect(call.aborted).toEqual(['cut']);
  });

  it('is not ended when it begins in time', () => {
    expect(begin({ sent: false }).aborted).toEqual([]);
  });

  it('stays what it was told to be, whatever comes after', async () => {
    const call = begin();
    call.reception.cut();
    call.head(201, JSON_TYPE);
    call.data('{}');
    call.end();
    expect(await call.reception.outcome).toEqual({ kind: 'broken', cause: 'timeout' });
  });

  it('stays answered when the answer was there before', async () => {
    const call = begin();
    call.head(201, JSON_TYPE);
    call.data('{}');
    call.end();
    call.reception.cut();
    expect(await call.reception.outcome).toEqual(answered(201, {}));
  });
});

describe('the connection of a call', () => {
  it('is free when the answer has ended, not before', async () => {
    const call = begin();
    call.head(200, JSON_TYPE);
    call.data('{}');
    expect(await stateOf(call.reception.released)).toBe('open');
    call.end();
    expect(await stateOf(call.reception.released)).toBe('settled');
  });

  it('is free when the call has failed, and not by the timeout alone', async () => {
    const call = begin();
    call.reception.cut();
    expect(await stateOf(call.reception.released)).toBe('open');
    call.fail(new Error('timeout'));
    expect(await stateOf(call.reception.released)).toBe('settled');
  });
});

describe('the mark of a sent call', () => {
  const created = channel('undici:request:create');
  const writing = channel('undici:client:sendHeaders');
  const watches: SentWatch[] = [];
  const watching = (): SentWatch => {
    const watch = watchSending();
    watches.push(watch);
    return watch;
  };
  afterEach(() => {
    for (const watch of watches.splice(0)) watch.stop();
  });

  it('is set when the head of its own request is written', () => {
    // Another client of the process watches, too.
    const [watch] = [watching(), watching()];
    const [first, second]: [SentMark, SentMark] = [{ sent: false }, { sent: false }];
    const [one, two, socket] = [{}, {}, {}];
    watch.follow(first, () => created.publish({ request: one }));
    watch.follow(second, () => created.publish({ request: two }));
    expect([first.sent, second.sent]).toEqual([false, false]);
    writing.publish({ request: two, socket });
    expect([first.sent, second.sent]).toEqual([false, true]);
    writing.publish({ request: one, socket });
    expect([first.sent, second.sent]).toEqual([true, true]);
    expect([first.on_kept_connection, second.on_kept_connection]).toEqual([true, false]);
  });

  it('is left alone by the requests of others, and by what is no message; neither brings the process down', async () => {
    const watch = watching();
    const mark = { sent: false };
    const foreign = {};
    created.publish({ request: foreign });
    const odd = [null, undefined, 'text', {}, { request: null }, { request: 'text' }, { request: undefined }];
    watch.follow(mark, () => {
      for (const message of odd) created.publish(message);
    });
    for (const message of [...odd, { request: foreign }]) writing.publish(message);
    await new Promise((turn) => setImmediate(turn)); // undici's channels rethrow an error of a listener on a later tick
    expect(mark.sent).toBe(false);
  });

  it('is not set any more once nobody watches', () => {
    for (const stopsFirst of [true, false]) {
      const watch = watching();
      const [mark, request] = [{ sent: false }, {}];
      if (stopsFirst) watch.stop();
      watch.follow(mark, () => created.publish({ request }));
      watch.stop();
      writing.publish({ request });
      expect(mark.sent).toBe(false);
    }
    expect([created.hasSubscribers, writing.hasSubscribers]).toEqual([false, false]);
  });

  it('is set by undici itself for a call that waited behind another, and for no call before it is written', async () => {
    const watch = watching();
    const marks = [{ sent: false }, { sent: false }];
    const seen: boolean[][] = [];
    const peer = await startPeer((socket) =>
      onRequest(socket, () => {
        seen.push(marks.map(({ sent }) => sent));
        socket.write(answer(200, '{}'));
      }),
    );
    const client = new Client(peer.url, { pipelining: 1 });
    try {
      const calls = marks.map((mark) => {
        const reception = new Reception(mark, MAX_BYTES, () => null);
        watch.follow(mark, () => client.dispatch({ path: '/x', method: 'GET' }, reception.handler));
        return reception.outcome;
      });
      expect(marks.map(({ sent }) => sent)).toEqual([false, false]);
      expect(await Promise.all(calls)).toEqual([answered(200, {}), answered(200, {})]);
      expect(seen).toEqual([
        [true, false],
        [true, true],
      ]);
    } finally {
      await client.close();
      await peer.close();
    }
  });
});
