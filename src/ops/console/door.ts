/** Signing in with an ops token, signing out, and choosing a language. */
import { type Request, type Response, Router } from 'express';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { SESSION_MS } from '../api/access.ts';
import { setRefusal } from '../api/errors.ts';
import { DAY_MS } from '../fields.ts';
import { html } from '../html.ts';
import { fieldsOf, type Kit, LANGUAGE_COOKIE, languageOf, ownPath, sendPage, sessionOf } from './kit.ts';
import { bareLayout, formToken, refusal } from './layout.ts';

const YEAR_MS = 366 * DAY_MS;

/** Sign-in, sign-out and the choice of a language; all but the first need the form token of a session. */
export function doorRouter(kit: Kit): Router {
  const router = Router();
  router.get('/sign-in', (request, response) => showSignIn(kit, request, response, null));
  router.post('/sign-in', (request, response) => signIn(kit, request, response));
  router.post('/sign-out', (request, response) => {
    requireFormToken(kit, request);
    response.clearCookie(kit.parts.sessions.cookie, { path: '/' }).redirect(303, '/sign-in');
  });
  router.post('/language', (request, response) => {
    requireFormToken(kit, request);
    const { language = '', next } = fieldsOf(request.body);
    if (Object.hasOwn(kit.words, language)) setCookie(request, response, LANGUAGE_COOKIE, language, YEAR_MS);
    response.redirect(303, ownPath(next));
  });
  return router;
}

/** @throws PuenteError forbidden for a form token that was not made for this session, or for no session. */
export function requireFormToken(kit: Kit, request: Request): void {
  const { form_token = '' } = fieldsOf(request.body);
  if (kit.parts.sessions.isFormToken(sessionOf(kit, request), form_token)) return;
  throw new PuenteError('forbidden', say('refusal.form', {}));
}

/** Checks the ops token once and does not store it; the browser gets a session cookie. */
function signIn(kit: Kit, request: Request, response: Response): void {
  try {
    requireFormToken(kit, request);
    const { token = '', next } = fieldsOf(request.body);
    const member = kit.parts.signIn.memberOf(token.trim(), '/sign-in');
    setCookie(request, response, kit.parts.sessions.cookie, kit.parts.sessions.open(member), SESSION_MS);
    response.redirect(303, ownPath(next));
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    setRefusal(response, error);
    showSignIn(kit, request, response, error);
  }
}

function showSignIn(kit: Kit, request: Request, response: Response, refused: PuenteError | null): void {
  const words = kit.words[languageOf(request)];
  const { t } = words;
  const next = ownPath(fieldsOf(request.query).next ?? fieldsOf(request.body).next);
  const token = kit.parts.sessions.formToken(sessionOf(kit, request));
  const content = html`${refused === null ? '' : refusal(words, refused)}
<form class="sign-in" action="/sign-in" method="post" autocomplete="off">
  ${formToken(token)}<input type="hidden" name="next" value="${next}">
  <label for="token">${t('sign.token')}</label>
  <input id="token" name="token" type="password" autocomplete="off" required autofocus>
  <button>${t('sign.in')}</button>
</form>
<p class="hint">${t('sign.hint')}</p>`;
  sendPage(response, bareLayout(kit.files, words, request.originalUrl, token, { title: t('sign.title'), content }));
}

/** Behind an HTTPS proxy, `Origin` begins with https; then the cookie must be `Secure`. */
function setCookie(request: Request, response: Response, name: string, value: string, max_age_ms: number): void {
  const secure = request.headers.origin?.startsWith('https:') ?? false;
  response.cookie(name, value, { httpOnly: true, sameSite: 'strict', secure, maxAge: max_age_ms, path: '/' });
}
