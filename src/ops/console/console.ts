/** The console: pages for operators on the ops door, made from the same operations as the API and the commands. */
import { randomUUID } from 'node:crypto';
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { sameOriginOnly } from '../api/access.ts';
import { callersFault, setRefusal } from '../api/errors.ts';
import type { ConsoleParts } from '../api/parts.ts';
import { sendStream, untilGone } from '../api/stream.ts';
import { type Html, html } from '../html.ts';
import { MOST_MERCHANTS } from '../plan/file.ts';
import { secretNames } from '../plan/reference.ts';
import { auditPage } from './audit.ts';
import { board } from './board.ts';
import { brownoutForms, brownoutPages } from './brownouts.ts';
import { bulkForms, bulkList, bulkPage } from './bulk.ts';
import { captureFile, captureForm, capturePage } from './captures.ts';
import { commandForms, commandPages, fileForms } from './commands.ts';
import { decommissionPage, fleetDecommissionPage } from './decommission.ts';
import { doorRouter, requireFormToken } from './door.ts';
import { driftPage } from './drift.ts';
import { evidencePage } from './evidence.ts';
import { explainForm, explainPage } from './explain.ts';
import { incidentForms, incidentPage } from './incidents.ts';
import {
  createKit,
  type Download,
  type Form,
  fieldsOf,
  type Kit,
  languageOf,
  type Page,
  type Shown,
  sendPage,
  sessionOf,
  type Visit,
} from './kit.ts';
import { bareLayout, layout, refusal } from './layout.ts';
import { merchantForms, merchantLanes, merchantPage } from './merchant.ts';
import { noticeForms, noticeList, noticePage } from './notices.ts';
import { rampForms, rampList, rampPage } from './ramps.ts';
import { reconcileForm, reconcilePage } from './reconcile.ts';
import {
  assumptionPage,
  limitationPage,
  merchantChartPage,
  reportChartPage,
  reportFile,
  reportPage,
  reportSumPage,
} from './reports.ts';
import { acceptForm, salePages } from './sales.ts';
import { settingsForm, settingsPage } from './settings.ts';
import { tracePage } from './trace.ts';
import { backupForm, backupPage, doctorPage } from './upkeep.ts';

/** The largest form of most pages holds a reason and a list of units. */
const FORM_LIMIT = '64kb';
/** A file of merchants has 100,000 characters, and a character up to nine in a form. */
const FILE_LIMIT = '1mb';
/** Of one form: a secret for each field of each merchant that may hold one, and the form's own. */
const FILE_FIELDS = secretNames.length * MOST_MERCHANTS + 20;

/** Serves all but `/api`, `/metrics` and the probes. Forms of other origins, or without the form token, are refused. */
export function createConsole(parts: ConsoleParts): RequestHandler {
  const kit = createKit(parts);
  const router = Router();
  router.get('/files/:name', kit.files.handler);
  router.use((request, response, next) => {
    if (request.method === 'POST') sameOriginOnly(request, response, next);
    else next();
  });
  const long = express.urlencoded({ extended: false, limit: FILE_LIMIT, parameterLimit: FILE_FIELDS });
  router.post([...fileForms], (request, response, next) =>
    parts.sessions.personOf(sessionOf(kit, request)) === null ? next() : long(request, response, next),
  );
  router.use(express.urlencoded({ extended: false, limit: FORM_LIMIT }));
  router.use(doorRouter(kit));
  const signedIn =
    <Row>(act: Act<Row>, row: Row): RequestHandler =>
    (request, response) => {
      const visit = visitOf(kit, request, response);
      return visit === null ? askToSignIn(request, response) : act(kit, row, visit, request, response);
    };
  for (const page of pages) router.get(page.path, signedIn(showPage, page));
  for (const file of downloads) router.get(file.path, signedIn(sendFile, file));
  for (const form of forms) router.post(form.path, signedIn(takeForm, form));
  const nowhere = signedIn(showPage, noPage);
  router.get(noPage.path, (request, response, next) =>
    isBrowser(request) ? nowhere(request, response, next) : next(),
  );
  router.use(tellBrowser(kit));
  return router;
}

type Act<Row> = (kit: Kit, row: Row, visit: Visit, request: Request, response: Response) => Promise<void>;

async function showPage(kit: Kit, page: Page, visit: Visit, request: Request, response: Response): Promise<void> {
  await answer(kit, page, visit, request, response).catch((error: unknown) => {
    // A client that disconnected needs no answer.
    if (!visit.signal.aborted) throw error;
  });
}

/** Redirects after success, so that a reload repeats nothing. */
async function takeForm(kit: Kit, form: Form, visit: Visit, request: Request, response: Response): Promise<void> {
  const sent = fieldsOf(request.body);
  try {
    requireFormToken(kit, request);
    const done = await form.send(visit, sent);
    if (typeof done === 'string') response.redirect(303, done);
    else sendPage(response, layout(kit.files, visit, request.path, await withName(form, visit, request, done)));
  } catch (error) {
    if (visit.signal.aborted) return; // as in `showPage`
    if (!(error instanceof PuenteError)) throw error;
    await answer(kit, form.page, { ...visit, sent, refused: error }, request, response);
  }
}

/** A report has inline style and is sandboxed: it runs no script and loads nothing. */
const FILE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-modals";

async function sendFile(kit: Kit, file: Download, visit: Visit, request: Request, response: Response): Promise<void> {
  try {
    const query = file.queryOf(visit.query, visit.words.language);
    const made = await visit.ask(file.row, { query, signal: visit.signal });
    const in_place = made.content_type.startsWith('text/html');
    response.set('Content-Security-Policy', FILE_POLICY);
    await sendStream(response, in_place ? { ...made, file_name: null } : made, kit.parts.log);
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    await answer(kit, file.page, { ...visit, refused: error }, request, response);
  }
}

async function answer(kit: Kit, page: Page, visit: Visit, request: Request, response: Response): Promise<void> {
  const { shown, refused } = await shownOrRefused(page, visit, request);
  if (refused !== null) setRefusal(response, refused);
  // The POST path of a refused form may have no page.
  const here = request.method === 'GET' ? request.originalUrl : page.path.includes(':') ? '/' : page.path;
  sendPage(response, layout(kit.files, { ...visit, refused }, here, shown));
}

/** A refusal replaces the content of the page. */
async function shownOrRefused(
  page: Page,
  visit: Visit,
  request: Request,
): Promise<{ shown: Shown; refused: PuenteError | null }> {
  try {
    return { shown: await withName(page, visit, request, await page.show(visit)), refused: visit.refused };
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    return { shown: { title: visit.words.t('refused.title'), content: html`` }, refused: error };
  }
}

/**
 * Titles about a merchant by its id have its name, too, such as `Merchant 700100200 · Café Sur`; not where it can't be read: an act that
 * was made must not look refused. A part that htmx loads leaves the title as it is.
 */
async function withName(
  { path }: Pick<Page, 'path'>,
  { ask, path: { id = '' } }: Visit,
  request: Request,
  shown: Shown,
): Promise<Shown> {
  if (!path.startsWith('/merchants/:id') || request.headers['hx-request'] === 'true') return shown;
  const { name } = await ask('GET /api/merchants/:id', { path: { id } }).catch(() => ({ name: null }));
  return name === null ? shown : { ...shown, title: `${shown.title} · ${name}` };
}

function askToSignIn(request: Request, response: Response): void {
  const next = request.method === 'GET' && request.originalUrl !== '/' ? request.originalUrl : null;
  // htmx must not put the sign-in page into a part of another page.
  if (request.headers['hx-request'] === 'true') response.status(401).set('HX-Redirect', '/sign-in').end();
  else response.redirect(303, next === null ? '/sign-in' : `/sign-in?next=${encodeURIComponent(next)}`);
}

/** Null without a valid session. */
function visitOf(kit: Kit, request: Request, response: Response): Visit | null {
  const { parts, words } = kit;
  const cookie = sessionOf(kit, request);
  const person = parts.sessions.personOf(cookie);
  if (person === null) return null;
  return {
    person,
    words: words[languageOf(request)],
    path: fieldsOf(request.params),
    query: fieldsOf(request.query),
    sent: {},
    refused: null,
    form_token: parts.sessions.formToken(cookie),
    signal: untilGone(response),
    ask: (row, input) => parts.api.ask(person, row, input),
    permit: (row) => parts.api.permit(person, row),
  };
}

export const pages: readonly Page[] = [
  board,
  merchantPage,
  merchantLanes,
  merchantChartPage,
  ...salePages,
  settingsPage,
  bulkList,
  bulkPage,
  rampList,
  rampPage,
  driftPage,
  ...commandPages,
  ...brownoutPages,
  reconcilePage,
  capturePage,
  explainPage,
  tracePage,
  noticeList,
  noticePage,
  incidentPage,
  fleetDecommissionPage,
  decommissionPage,
  reportPage,
  reportChartPage,
  reportSumPage,
  evidencePage,
  auditPage,
  doctorPage,
  backupPage,
  limitationPage,
  assumptionPage,
];

export const forms: readonly Form[] = [
  ...merchantForms,
  ...noticeForms,
  ...incidentForms,
  acceptForm,
  settingsForm,
  ...bulkForms,
  ...rampForms,
  ...brownoutForms,
  reconcileForm,
  captureForm,
  explainForm,
  ...commandForms,
  backupForm,
];

const downloads: readonly Download[] = [reportFile, captureFile];

// Pages for unknown paths and for errors; programs get the API's JSON.

const noPage: Page = {
  path: '/*nowhere',
  show: () => Promise.reject(new PuenteError('not_found', say('refusal.no_page', {}))),
};

/** True for a client that prefers HTML to JSON. */
function isBrowser(request: Request): boolean {
  return request.accepts(['json', 'html']) === 'html';
}

/** Shows a refusal outside of a page, a bad request, or an internal error with the id of its log line. */
function tellBrowser(kit: Kit): ErrorRequestHandler {
  const { parts, words, files } = kit;
  return (error: unknown, request, response, next) => {
    if (response.headersSent || !isBrowser(request)) return next(error);
    const own = words[languageOf(request)];
    const token = parts.sessions.formToken(sessionOf(kit, request));
    const amiss = callersFault(error);
    let said: Html;
    if (error instanceof PuenteError) {
      setRefusal(response, error);
      said = refusal(own, error);
    } else if (amiss !== null) {
      response.status(amiss);
      said = alert(own.t(AMISS.get(amiss) ?? 'amiss.other'));
    } else {
      const request_id = randomUUID();
      parts.log.error('a page could not be made', { cause: String(error), path: request.path, request_id });
      response.status(500);
      said = alert(own.t('broken.says', { id: request_id }));
    }
    const content = html`${said}<p><a href="/">${own.t('nav.fleet')}</a></p>`;
    sendPage(response, bareLayout(files, own, '/', token, { title: own.t('refused.title'), content }));
  };
}

/** Message keys for unreadable requests, by status. */
const AMISS: ReadonlyMap<number, string> = new Map([
  [413, 'amiss.too_large'],
  [415, 'amiss.form'],
]);

function alert(sentence: string): Html {
  return html`<p class="notice bad" role="alert">${sentence}</p>`;
}
