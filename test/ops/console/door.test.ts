/** The console's door: sign-in and sign-out, what a session allows, forms of other pages, languages, and headers. */
import { createServer } from 'node:http';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { PuenteError } from '../../../src/error.ts';
import { createSessions, membersOf } from '../../../src/ops/api/access.ts';
import type { OpsApi } from '../../../src/ops/api/api.ts';
import { createConsole } from '../../../src/ops/console/console.ts';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import { createVault, Secret } from '../../../src/proxy/vault.ts';
import { ANA, type Answer, ARGENTINA, BEN, call, OPS_TOKEN, PEOPLE, startBench } from '../../kit.ts';
import { listen, shut } from '../../listen.ts';
import { openForAll } from '../../open.ts';

const bench = openForAll(() => startBench(PEOPLE));

const FORM = 'application/x-www-form-urlencoded';

function at(path: string, cookie = '', headers: Record<string, string> = {}): Promise<Answer> {
  return call(bench.app.ops_url + path, { headers: { accept: 'text/html', cookie, ...headers } });
}

function send(path: string, fields: Record<string, string>, cookie = '', headers = {}): Promise<Answer> {
  return call(bench.app.ops_url + path, {
    body: new URLSearchParams(fields).toString(),
    headers: { cookie, 'content-type': FORM, origin: bench.app.ops_url, 'sec-fetch-site': 'same-origin', ...headers },
  });
}

function formTokenIn({ text }: Answer): string {
  return /name="form_token" value="([0-9a-f]+)"/.exec(text)?.[1] ?? '';
}

function cookieIn({ headers }: Answer): string {
  return String([headers['set-cookie']].flat()[0]).split(';')[0] ?? '';
}

async function signedIn(token: string): Promise<string> {
  const answer = await send('/sign-in', { form_token: formTokenIn(await at('/sign-in')), token });
  return cookieIn(answer);
}

describe('signing in', () => {
  it('gives a cookie that scripts and other sites do not get, and holds no token', async () => {
    const page = await at('/sign-in?next=/audit');
    const answer = await send('/sign-in', { form_token: formTokenIn(page), token: ANA.token, next: '/audit' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/audit']);
    const cookie = String(answer.headers['set-cookie']);
    expect(cookie).toContain('HttpOnly');
    expect(cookie).toContain('SameSite=Strict');
    expect(cookie).not.toContain('Secure');
    expect(cookie).not.toContain(ANA.token);
    expect((await at('/', cookieIn(answer))).status).toBe(200);
  });

  it.each([
    '//evil.example',
    '/.//evil.example',
    '/%2e//evil.example',
    '/a/..//evil.example',
    '/\\evil.example',
    'https://evil.example/',
  ])('leads to no other host: %s', async (next) => {
    const page = await at(`/sign-in?next=${encodeURIComponent(next)}`);
    const answer = await send('/sign-in', { form_token: formTokenIn(page), token: ANA.token, next });
    expect([answer.status, answer.headers.location]).toEqual([303, '/']);
  });

  it('keeps the cookie for HTTPS when the browser came by it', async () => {
    const form_token = formTokenIn(await at('/sign-in'));
    const origin = bench.app.ops_url.replace('http:', 'https:');
    const answer = await send('/sign-in', { form_token, token: ANA.token }, '', { origin });
    expect(String(answer.headers['set-cookie'])).toContain('Secure');
  });

  it('with a wrong token says so, without saying it back', async () => {
    const form_token = formTokenIn(await at('/sign-in'));
    const answer = await send('/sign-in', { form_token, token: 'not-anybodys-token', next: '/audit' });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('The token is not known');
    expect(answer.text).not.toContain('not-anybodys-token');
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('leads nowhere else, whatever next says', async () => {
    for (const next of ['https://evil.example', '//evil.example', '/\\evil.example', '/\t/evil.example', 'audit']) {
      const form_token = formTokenIn(await at('/sign-in'));
      expect([next, (await send('/sign-in', { form_token, token: ANA.token, next })).headers.location]).toEqual([
        next,
        '/',
      ]);
    }
  });
});

describe('who is not signed in', () => {
  it('is asked to, and comes back to where he wanted to be', async () => {
    expect((await at('/')).headers.location).toBe('/sign-in');
    expect((await at('/?page=2')).headers.location).toBe(`/sign-in?next=${encodeURIComponent('/?page=2')}`);
    const part = await at('/', '', { 'hx-request': 'true' });
    expect([part.status, part.headers['hx-redirect'], part.text]).toEqual([401, '/sign-in', '']);
    const name = (await signedIn(ANA.token)).split('=')[0];
    expect((await at('/', `${name}=v1.b3BlcmF0b3I.9999999999999.00.00`)).status).toBe(303);
  });

  it('is signed out by no other Puente of the same host, whose cookies a browser keeps with these', async () => {
    const neighbour = await startBench(PEOPLE);
    const jar = new Map<string, string>();
    for (const { app } of [bench, neighbour]) {
      const form_token = formTokenIn(await call(`${app.ops_url}/sign-in`));
      const fields = new URLSearchParams({ form_token, token: ANA.token });
      const answer = await call(`${app.ops_url}/sign-in`, {
        body: fields.toString(),
        headers: { 'content-type': FORM },
      });
      const [name = '', value = ''] = cookieIn(answer).split('=');
      jar.set(name, value);
    }
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    for (const { app } of [bench, neighbour])
      expect((await call(`${app.ops_url}/`, { headers: { accept: 'text/html', cookie } })).status).toBe(200);
    await neighbour.close();
  });

  it('gets nothing by the cookie of a session on the API: that takes a token', async () => {
    const cookie = await signedIn(BEN.token);
    expect((await at('/api/merchants', cookie)).status).toBe(401);
  });
});

describe('a form', () => {
  it('of another page is refused, by its origin and by the token that it lacks', async () => {
    const cookie = await signedIn(BEN.token);
    const form_token = formTokenIn(await at('/', cookie));
    const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await send('/sign-out', { form_token }, cookie, evil)).status).toBe(403);
    expect((await send('/sign-out', {}, cookie)).status).toBe(403);
    const other = formTokenIn(await at('/', await signedIn(ANA.token)));
    expect((await send('/sign-out', { form_token: other }, cookie)).status).toBe(403);
    const out = await send('/sign-out', { form_token }, cookie);
    expect(out.headers.location).toBe('/sign-in');
    expect(String(out.headers['set-cookie'])).toMatch(/^puente_session_[0-9a-f]{12}=;.*1970/);
  });
});

it('a file may have a secret for each field of each merchant that holds one', async () => {
  const cookie = await signedIn(BEN.token);
  const form_token = formTokenIn(await at('/plan', cookie));
  const secrets = Object.fromEntries(Array.from({ length: 1_500 }, (_, nth) => [`secret env:S${nth}`, 'a-secret']));
  const text = `merchants:\n  - {id: "${ARGENTINA}", new: true, name: Café}\n`;
  const answer = await send('/plan', { form_token, file: 'shops.yaml', text, ...secrets }, cookie);
  expect([answer.status, /id="found"/.test(answer.text)]).toEqual([200, true]);
});

it.each([
  ['in its title', true, '<h1>Decommission of 700100200 · Café Sur</h1>'],
  [
    'but not refused where that can’t be read, as after an act that was made',
    false,
    '<h1>Decommission of 700100200</h1>',
  ],
])('a page about a merchant has its name %s', async (_what, is_readable, title) => {
  await bench.notify(ARGENTINA, { name: 'Café Sur' });
  const members = membersOf({ token: new Secret(OPS_TOKEN), tokens: {} });
  const sessions = createSessions(members, createVault(new Secret('c7'.repeat(32))), Date);
  const signIn = { memberOf: () => members[0] as (typeof members)[0] }; // there is one
  const api: OpsApi = {
    async ask(_person, name, { path = {} } = {}) {
      if (name === 'GET /api/merchants/:id' && !is_readable) throw new PuenteError('store_failed', 'the disk is full');
      const url = name.replace('GET ', '').replace(':id', path.id ?? '');
      return (await bench.ops(url)).body as never; // the row's own answer
    },
    permit: () => undefined,
  };
  const server = createServer(express().use(createConsole({ api, sessions, signIn, log: createLog('silent') })));
  const url = `http://127.0.0.1:${await listen(server)}/merchants/${ARGENTINA}/decommission`;
  const cookie = `${sessions.cookie}=${sessions.open(signIn.memberOf())}`;
  const page = await call(url, { headers: { accept: 'text/html', cookie } }).finally(() => shut(server));
  expect([page.status, page.text]).toEqual([200, expect.stringContaining(title)]);
});

describe('what a browser sends amiss', () => {
  const lines: string[] = [];
  const other = openForAll(() =>
    startBench(PEOPLE, { log: createLog('info', { write: (line) => void lines.push(line) }) }),
  );

  const post = (body: string, type = FORM): Promise<Answer> =>
    call(`${other.app.ops_url}/sign-in`, { body, headers: { accept: 'text/html', 'content-type': type } });

  it.each([
    {
      what: 'a form that is too large',
      ask: () => post(`token=${'a'.repeat(70_000)}`),
      status: 413,
      says: 'shorten it',
    },
    {
      what: 'a whole file from nobody',
      ask: () =>
        call(`${other.app.ops_url}/plan`, {
          body: `text=${'a'.repeat(70_000)}`,
          headers: { accept: 'text/html', 'content-type': FORM },
        }),
      status: 413,
      says: 'shorten it',
    },
    {
      what: 'an odd encoding',
      ask: () => post('token=a', `${FORM}; charset=ebcdic`),
      status: 415,
      says: 'load the page',
    },
    {
      what: 'a broken address',
      ask: () => call(`${other.app.ops_url}/merchants/%E0%A4%A`, { headers: { accept: 'text/html' } }),
      status: 400,
      says: 'begin at the page below',
    },
  ])('keeps its status, says what to do, and is no error of ours: $what', async ({ ask, status, says }) => {
    const answer = await ask();
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toContain('text/html');
    expect(answer.text).toContain(says);
    expect(lines.filter((line) => line.includes('could not be made'))).toEqual([]);
  });

  it('leaving the page of backups while one is made is no error of ours', async () => {
    const { ops_url } = other.app;
    const page = await call(`${ops_url}/sign-in`);
    const headers = { 'content-type': FORM, origin: ops_url, accept: 'text/html' };
    const token = new URLSearchParams({ form_token: formTokenIn(page), token: BEN.token }).toString();
    const cookie = cookieIn(await call(`${ops_url}/sign-in`, { body: token, headers }));
    const form_token = formTokenIn(await call(`${ops_url}/backups`, { headers: { cookie } }));
    const body = new URLSearchParams({ form_token, reason: 'a test leaves' }).toString();
    const backup = () =>
      fetch(`${ops_url}/backups`, {
        method: 'POST',
        body,
        headers: { ...headers, cookie },
        redirect: 'manual',
        signal,
      });
    let signal = AbortSignal.timeout(60_000);
    for (const wait of [5, 10, 20, 30, 40, 60, 80, 120]) {
      signal = AbortSignal.timeout(wait);
      await backup().catch(() => undefined);
    }
    signal = AbortSignal.timeout(60_000);
    await expect.poll(async () => (await backup()).status).toBe(303);
    expect(lines.filter((line) => line.includes('could not be made'))).toEqual([]);
  });

  it('a wrong token too often is told when to come again', async () => {
    const token_of = async (): Promise<string> => formTokenIn(await call(`${other.app.ops_url}/sign-in`));
    let answer: Answer | null = null;
    for (let wrong = 0; answer?.status !== 429 && wrong < 100; wrong++) {
      const form = new URLSearchParams({ form_token: await token_of(), token: `guess-number-${wrong}` });
      answer = await post(form.toString());
    }
    expect(answer?.status).toBe(429);
    expect(Number(answer?.headers['retry-after'])).toBeGreaterThan(0);
    expect(answer?.text).toContain('Too many wrong tokens');
  });
});

describe('the language', () => {
  it('is the first of the browser that there is, unless somebody chose another', async () => {
    const titled = async (accept: string, cookie = '') =>
      /<html lang="(..)">/.exec((await at('/sign-in', cookie, { 'accept-language': accept })).text)?.[1];
    expect(await titled('pt-BR,pt;q=0.9,en;q=0.8')).toBe('pt');
    expect(await titled('es-419')).toBe('es');
    expect(await titled('fr,de;q=0.8')).toBe('en');
    expect(await titled('fr,es;q=0.5')).toBe('es');
    const form_token = formTokenIn(await at('/sign-in'));
    const chosen = await send('/language', { form_token, language: 'pt', next: '/sign-in' });
    expect([chosen.status, chosen.headers.location]).toEqual([303, '/sign-in']);
    expect(await titled('es', cookieIn(chosen))).toBe('pt');
    expect((await send('/language', { form_token, language: 'constructor' })).headers['set-cookie']).toBeUndefined();
  });
});

describe('the headers', () => {
  it('let pages load from this door alone, and allow other answers no forms [F126]', async () => {
    const policy = String((await at('/sign-in')).headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("form-action 'self'");
    expect(policy).not.toContain('unsafe');
    expect((await at('/healthz')).headers['content-security-policy']).toContain("form-action 'none'");
  });

  it('let browsers keep the files, whose paths change with their content', async () => {
    const [, style] = /href="(\/files\/console[^"]+)"/.exec((await at('/sign-in')).text) ?? [];
    const file = await at(style ?? '');
    expect(file.headers['cache-control']).toContain('immutable');
    expect(file.headers['content-type']).toContain('text/css');
    expect((await at('/files/console.css')).status).toBe(404);
  });
});
