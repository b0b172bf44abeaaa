/** Routes around the intents: unknown ones, events, last status, devices, operating mode, integrator. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listDevicesAnswer, listEventsAnswer } from '../../../src/contract/legacy-point.ts';
import { putTerminal } from '../../../src/sandbox/cast.ts';
import { BASE, MINUTE_MS, MLA, MLB, NEWLAND, PAX, STANDALONE, startTill, type Till, UNKNOWN_ID } from './kit.ts';

let till: Till;
beforeEach(async () => {
  till = await startTill();
});
afterEach(() => till.close());

const badRequest = { status: 400, body: { error: '400', message: 'Bad request', status: 400 } };
const DAY_MS = 24 * 60 * MINUTE_MS;

describe('what is no route', () => {
  it.each([
    ['DELETE', `/payment-intents/${UNKNOWN_ID}`],
    ['GET', `/devices/${PAX}/payment-intents/${UNKNOWN_ID}`],
    ['GET', `/devices/${PAX}`],
    ['PUT', `/devices/${PAX}`],
    ['POST', '/devices'],
    ['GET', ''],
    ['GET', '/DEVICES'],
  ])('404 "111" for %s %s', async (method, path) => {
    const answer = await till.call(method, BASE + path);
    expect(answer).toMatchObject({ status: 404, body: { error: '111', message: 'Action not supported', status: 404 } });
  });

  it('404 "111" for anything else under /point', async () => {
    expect(await till.call('GET', '/point/other')).toMatchObject({ status: 404, body: { error: '111' } });
  });

  it('leaves other paths alone', async () => {
    const answer = await till.call('GET', '/v1/nothing');
    expect(answer).toMatchObject({ status: 404, body: { message: 'There is nothing at this address' } });
  });

  it('400 for a path that does not decode', async () => {
    expect(await till.call('GET', `${BASE}/payment-intents/%E0%A4%A`)).toMatchObject(badRequest);
  });
});

describe('events list', () => {
  const list = (query: string, merchant = MLA) =>
    till.call('GET', `${BASE}/payment-intents/events${query}`, { merchant });

  it.each([
    '',
    '?',
    '?startDate=2026-11-01',
    '?endDate=2026-11-02',
    '?startDate=2026-11-01&endDate=',
    '?startDate=2026-11-1&endDate=2026-11-02',
    '?startDate=01-11-2026&endDate=2026-11-02',
    '?startDate=2026-02-30&endDate=2026-03-02',
    '?startDate=2026-11-00&endDate=2026-11-02',
    '?startDate=2026-11-03&endDate=2026-11-02',
    '?startDate=2026-10-02&endDate=2026-11-02',
    '?startDate=2026-11-01&endDate=2026-11-02&endDate=2026-11-03',
  ])('400 for "%s"', async (query) => {
    expect(await list(query)).toMatchObject(badRequest);
  });

  it('401 without a token', async () => {
    expect((await till.call('GET', `${BASE}/payment-intents/events`, { token: null })).status).toBe(401);
  });

  it('shows final states of this merchant, newest first, with the time they were reached', async () => {
    const canceled = await till.create();
    till.world.clock.advance(MINUTE_MS);
    till.operate('cancel');
    const paid = await till.create();
    till.world.clock.advance(MINUTE_MS);
    till.operate('pay');
    await till.create();
    await till.create({ amount: 1500 }, { merchant: MLB });
    till.operate('pay', {}, { merchant: MLB });
    const answer = await list('?startDate=2026-10-03&endDate=2026-11-02');
    expect(answer.status).toBe(200);
    expect(answer.text).toBe(
      JSON.stringify({
        events: [
          { payment_intent_id: paid, status: 'FINISHED', created_on: '2026-11-02T13:07:11Z' },
          { payment_intent_id: canceled, status: 'CANCELED', created_on: '2026-11-02T13:06:11Z' },
        ],
      }),
    );
    expect(listEventsAnswer.safeParse({ body: answer.body }).success).toBe(true);
  });

  it('takes days whole, in UTC', async () => {
    const id = await till.create();
    till.operate('process');
    till.world.clock.advance(Date.UTC(2026, 10, 3) - 1 - till.world.clock.now());
    till.operate('pay');
    expect((await list('?startDate=2026-11-02&endDate=2026-11-02')).body.events).toMatchObject([
      { payment_intent_id: id },
    ]);
    expect((await list('?startDate=2026-11-03&endDate=2026-11-03')).body.events).toEqual([]);
    expect((await list('?startDate=2026-11-01&endDate=2026-11-01')).body.events).toEqual([]);
  });

  it('shows the later created first when two were over at the same time', async () => {
    const first = await till.create();
    const second = await till.create({ amount: 1500 }, { device: NEWLAND });
    till.operate('pay');
    till.operate('pay', {}, { device: NEWLAND });
    const { body } = await list('?startDate=2026-11-02&endDate=2026-11-02');
    expect(body.events.map((event: { payment_intent_id: string }) => event.payment_intent_id)).toEqual([second, first]);
  });
});

describe('last status', () => {
  const status = (id: string, merchant = MLA) => till.call('GET', `${BASE}/payment-intents/${id}/events`, { merchant });

  it("404 for an unknown id and another merchant's", async () => {
    const id = await till.create();
    const gone = { status: 404, body: { error: '404', message: "Payment intent doesn't exist", status: 404 } };
    expect(await status(UNKNOWN_ID)).toMatchObject(gone);
    expect(await status(id, MLB)).toMatchObject(gone);
  });

  it('shows the current state as status, with the time it was reached', async () => {
    const id = await till.create();
    expect((await status(id)).text).toBe('{"status":"OPEN","created_on":"2026-11-02T13:05:11Z"}');
    till.world.clock.advance(MINUTE_MS);
    till.operate('pick_up');
    till.world.clock.advance(MINUTE_MS);
    expect((await status(id)).text).toBe('{"status":"ON_TERMINAL","created_on":"2026-11-02T13:06:11Z"}');
  });
});

describe('devices', () => {
  const list = (query = '') => till.call('GET', `${BASE}/devices${query}`);

  it.each([
    ['?limit=x', 'limit is not valid'],
    ['?limit=-1', 'limit is not valid'],
    ['?limit=', 'limit is not valid'],
    ['?offset=1.5', 'offset is not valid'],
    ['?pos_id=SUC001', 'pos_id is not valid'],
    ['?limit=1&limit=2', 'Bad request'],
  ])('400 for %s', async (query, message) => {
    expect(await list(query)).toMatchObject({ status: 400, body: { error: '400', message, status: 400 } });
  });

  it('401 without a token', async () => {
    expect((await till.call('GET', `${BASE}/devices`, { token: null })).status).toBe(401);
  });

  it('lists the cast with numbers and texts as documented', async () => {
    const answer = await list();
    expect(answer.text).toBe(
      JSON.stringify({
        devices: [
          { id: PAX, pos_id: 1_000_001, store_id: '10001', external_pos_id: 'SUC001POS001', operating_mode: 'PDV' },
          { id: NEWLAND, pos_id: 1_000_002, store_id: '10001', external_pos_id: 'SUC001POS002', operating_mode: 'PDV' },
          {
            id: STANDALONE,
            pos_id: 1_000_003,
            store_id: '10002',
            external_pos_id: 'SUC002POS001',
            operating_mode: 'STANDALONE',
          },
        ],
        paging: { total: 3, limit: 50, offset: 0 },
      }),
    );
    expect(listDevicesAnswer.safeParse({ body: answer.body }).success).toBe(true);
  });

  it('filters and pages', async () => {
    expect((await list('?store_id=10002')).body.devices).toMatchObject([{ id: STANDALONE }]);
    expect((await list('?pos_id=1000002')).body).toMatchObject({ devices: [{ id: NEWLAND }], paging: { total: 1 } });
    expect((await list('?limit=1&offset=1')).body).toMatchObject({
      devices: [{ id: NEWLAND }],
      paging: { total: 3, limit: 1, offset: 1 },
    });
    expect((await list('?limit=99')).body.paging.limit).toBe(50);
  });

  it('shows a device without a store, and one whose mode is not recognised', async () => {
    putTerminal(till.world, {
      id: 'PAX_A910__LOOSE',
      merchant_id: MLA,
      pos_id: null,
      operating_mode: 'UNDEFINED',
      software: 'current',
      occupation: null,
    });
    const loose = {
      id: 'PAX_A910__LOOSE',
      pos_id: 0,
      store_id: null,
      external_pos_id: '',
      operating_mode: 'STANDALONE',
    };
    expect((await list('?pos_id=0')).body.devices).toEqual([loose]);
    const answer = await till.call('PATCH', `${BASE}/devices/PAX_A910__LOOSE`, { body: { operating_mode: 'PDV' } });
    expect(answer).toMatchObject({ status: 403, body: { error: '403', message: 'Forbidden', status: 403 } });
  });
});

describe('operating mode', () => {
  const change = (device: string, body: unknown) => till.call('PATCH', `${BASE}/devices/${device}`, { body });
  const modeOf = (device: string) => till.world.terminal(MLA, device)?.operating_mode;

  it('400 for a body that says no mode', async () => {
    expect(await change(PAX, 'PDV')).toMatchObject({ status: 400, body: { message: 'Invalid JSON body' } });
    expect(await change(PAX, {})).toMatchObject({ status: 400, body: { message: 'operating_mode is required' } });
    for (const operating_mode of ['pdv', 'UNDEFINED', 1, null]) {
      const answer = await change(PAX, { operating_mode });
      expect(answer).toMatchObject({ status: 400, body: { error: '400', message: 'operating_mode is not valid' } });
    }
  });

  it('403 for a device of nobody', async () => {
    const answer = await change('PAX_A910__NOBODYS', { operating_mode: 'PDV' });
    expect(answer).toMatchObject({ status: 403, body: { message: 'Forbidden Error checking device owner' } });
  });

  it('409 for a second device in PDV at one point of sale', async () => {
    const pos_id = till.world.terminal(MLA, PAX)?.pos_id ?? null;
    const id = 'PAX_A910__SECOND';
    putTerminal(till.world, {
      id,
      merchant_id: MLA,
      pos_id,
      operating_mode: 'STANDALONE',
      software: 'current',
      occupation: null,
    });
    const answer = await change(id, { operating_mode: 'PDV' });
    expect(answer).toMatchObject({
      status: 409,
      body: { error: '409', message: 'A device is already in PDV mode for this point of sale', status: 409 },
    });
    expect(modeOf(id)).toBe('STANDALONE');
    expect((await change(PAX, { operating_mode: 'PDV' })).status).toBe(200);
  });

  it('changes the shared terminal and answers with the mode', async () => {
    expect(await change(STANDALONE, { operating_mode: 'PDV' })).toMatchObject({
      status: 200,
      text: '{"operating_mode":"PDV"}',
    });
    expect(modeOf(STANDALONE)).toBe('PDV');
    await change(STANDALONE, { operating_mode: 'STANDALONE' });
    expect(modeOf(STANDALONE)).toBe('STANDALONE');
  });
});

describe('integrator', () => {
  const path = `${BASE}/integrator`;

  it('400 for channels that are no list of texts', async () => {
    expect(await till.call('PATCH', path, { body: {} })).toMatchObject({
      status: 400,
      body: { message: 'event_channel_devices is required' },
    });
    for (const event_channel_devices of ['email', [1], null]) {
      const answer = await till.call('PATCH', path, { body: { event_channel_devices } });
      expect(answer).toMatchObject({ status: 400, body: { message: 'event_channel_devices is not valid' } });
    }
  });

  it('keeps the channels', async () => {
    const before = await till.call('GET', path);
    expect(before.text).toBe(
      '{"id":700100200,"created_at":"2026-11-02T13:05:11Z","updated_at":"2026-11-02T13:05:11Z",' +
        '"notification_url_enabled":false,"event_channel_devices":[]}',
    );
    till.world.clock.advance(DAY_MS);
    const changed = await till.call('PATCH', path, { body: { event_channel_devices: ['email'] } });
    expect(changed).toMatchObject({ status: 204, text: '' });
    expect((await till.call('GET', path)).body).toMatchObject({
      created_at: '2026-11-02T13:05:11Z',
      updated_at: '2026-11-03T13:05:11Z',
      event_channel_devices: ['email'],
    });
    expect((await till.call('GET', path, { merchant: MLB })).body.event_channel_devices).toEqual([]);
  });
});
