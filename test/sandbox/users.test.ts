/** `GET /users/me` and `POST /oauth/token` of the sandbox. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hashOf } from '../../src/sandbox/world.ts';
import { ARGENTINA, BRAZIL, type Kit, MEXICO, openKit, tokenOf } from './kit.ts';
import { CHILE, URUGUAY } from './payment-kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

describe('GET /users/me', () => {
  test.each([
    [ARGENTINA, 'MLA', 'AR'],
    [BRAZIL, 'MLB', 'BR'],
    [MEXICO, 'MLM', 'MX'],
    [CHILE, 'MLC', 'CL'],
    [URUGUAY, 'MLU', 'UY'],
  ])('of %s', async (merchant, site_id, country_id) => {
    const { status, body } = await kit.call('GET', '/users/me', { merchant });
    expect([status, body]).toEqual([
      200,
      {
        id: Number(merchant),
        nickname: expect.stringMatching(/^TESTSELLER\d$/),
        registration_date: expect.any(String),
        email: expect.stringContaining('@'),
        site_id,
        country_id,
        user_type: 'normal',
        tags: ['normal', 'test_user'],
        status: { site_status: 'active' },
      },
    ]);
  });

  test('with the token in the query', async () => {
    const reply = await kit.call('GET', `/users/me?access_token=${tokenOf(BRAZIL)}`, { merchant: null });
    expect(reply.body.id).toBe(Number(BRAZIL));
  });

  test('without a token: 401 with cause 5', async () => {
    const reply = await kit.call('GET', '/users/me', { merchant: null });
    expect([reply.status, reply.body.cause[0].code]).toEqual([401, 5]);
  });
});

describe('POST /oauth/token', () => {
  const client = { client_id: '4004001', client_secret: 'sandbox-client-secret' };
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    kit.call('POST', '/oauth/token', { merchant: null, body, headers });
  const codeOf = async (merchant: string): Promise<string> => {
    const { grants } = (await kit.control('GET', 'state')).body.oauth;
    return grants.find(({ merchant_id }: { merchant_id: string }) => merchant_id === merchant).code;
  };
  const whoIs = (token: string) =>
    kit.call('GET', '/users/me', { merchant: null, headers: { authorization: `Bearer ${token}` } });

  test.each([
    [{ ...client, code: 'x' }, 'invalid_request'],
    [{ ...client, grant_type: 'password' }, 'unsupported_grant_type'],
    [{ ...client, grant_type: 'authorization_code' }, 'invalid_request'],
    [{ ...client, grant_type: 'authorization_code', code: 'x' }, 'invalid_grant'],
    [{ ...client, grant_type: 'refresh_token', refresh_token: 'x' }, 'invalid_grant'],
    [{ ...client, client_id: '1', grant_type: 'authorization_code', code: 'x' }, 'invalid_client'],
    [{ ...client, client_secret: '1', grant_type: 'authorization_code', code: 'x' }, 'invalid_client'],
    ['{', 'invalid_request'],
  ])('%j: 400 %s', async (body, error) => {
    const reply = await post(body);
    expect([reply.status, reply.body.error]).toEqual([400, error]);
  });

  test('a code becomes a token of its merchant, known as one from OAuth', async () => {
    const code = await codeOf(MEXICO);
    const { status, body } = await post({ ...client, grant_type: 'authorization_code', code });
    expect([status, body]).toEqual([
      200,
      {
        access_token: expect.stringMatching(/^APP_USR-4004001-\d{6}-[0-9a-f]{32}-700100400$/),
        token_type: 'bearer',
        expires_in: 15_552_000,
        scope: 'offline_access read write',
        user_id: Number(MEXICO),
        refresh_token: expect.stringMatching(/^TG-[0-9a-f]{24}-700100400$/),
        public_key: expect.stringMatching(/^APP_USR-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        live_mode: true,
      },
    ]);
    expect((await whoIs(body.access_token)).body.id).toBe(Number(MEXICO));
    expect((await whoIs(tokenOf(MEXICO))).status).toBe(200);
    expect(kit.sandbox.world.tokens.get(hashOf(body.access_token))?.oauth).toBe(true);
  });

  test('a code works once', async () => {
    const body = { ...client, grant_type: 'authorization_code', code: await codeOf(ARGENTINA) };
    expect((await post(body)).status).toBe(200);
    expect((await post(body)).body.error).toBe('invalid_grant');
  });

  test('a refresh token becomes another token, once; as a code it is none', async () => {
    const code = await codeOf(ARGENTINA);
    const first = (await post({ ...client, grant_type: 'authorization_code', code })).body;
    const { refresh_token } = first;
    expect((await post({ ...client, grant_type: 'authorization_code', code: refresh_token })).status).toBe(400);
    const second = (await post({ ...client, grant_type: 'refresh_token', refresh_token })).body;
    expect(second.access_token).not.toBe(first.access_token);
    expect((await whoIs(second.access_token)).body.id).toBe(Number(ARGENTINA));
    expect((await post({ ...client, grant_type: 'refresh_token', refresh_token })).status).toBe(400);
  });

  test('a form is taken too', async () => {
    const form = new URLSearchParams({ ...client, grant_type: 'authorization_code', code: await codeOf(ARGENTINA) });
    const reply = await post(form.toString(), { 'content-type': 'application/x-www-form-urlencoded' });
    expect([reply.status, reply.body.user_id]).toEqual([200, Number(ARGENTINA)]);
  });
});
