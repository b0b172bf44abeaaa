/** What a browser is shown where there is no page, or where one could not be made; programs are told in the API's own form. */

import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler, Request } from 'express';
import { PuenteError } from '../../error.ts';
import { callersFault, setRefusal } from '../api/errors.ts';
import { pageRefusals } from '../api/said.ts';
import { type Html, html } from './html.ts';
import { type Kit, languageOf, sendPage, sessionOf } from './kit.ts';
import { bareLayout, refusal } from './layout.ts';
import type { Page } from './visit.ts';

/** For every path that no other page has. */
export const noPage: Page = {
  path: '/*nowhere',
  show: () => Promise.reject(new PuenteError('not_found', pageRefusals.no_page)),
};

/** Whoever would rather have a page than JSON. */
export function isBrowser(request: Request): boolean {
  return request.accepts(['json', 'html']) === 'html';
}

/** A refusal outside of any page, what a browser sent amiss, or an error of ours, which the log has by the number that is shown. */
export function tellBrowser(kit: Kit): ErrorRequestHandler {
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
    sendPage(response, bareLayout(files, own, '/', token, { title: own.t('refused.title'), content })).catch(next);
  };
}

/** What to do about a request that can't be read, by its status. */
const AMISS: ReadonlyMap<number, string> = new Map([
  [413, 'amiss.too_large'],
  [415, 'amiss.form'],
]);

function alert(sentence: string): Html {
  return html`<p class="notice bad" role="alert">${sentence}</p>`;
}
