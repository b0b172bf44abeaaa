/** What a browser is shown where there is no page, or where one could not be made; programs are told in the API's own form. */
import { randomUUID } from 'node:crypto';
import type { ErrorRequestHandler, Request } from 'express';
import { PuenteError } from '../error.ts';
import { statusOf } from '../http/ops/errors.ts';
import { html } from './html.ts';
import { cookieOf, type Kit, languageOf, SESSION_COOKIE, sendPage } from './kit.ts';
import { bareLayout, refusal } from './layout.ts';
import type { Page } from './visit.ts';

/** For every path that no other page has. */
export const noPage: Page = {
  path: '/*nowhere',
  show: () => Promise.reject(new PuenteError('not_found', 'There is no such page; the head of this one leads to all.')),
};

/** Whoever would rather have a page than JSON. */
export function isBrowser(request: Request): boolean {
  return request.accepts(['json', 'html']) === 'html';
}

/** A refusal outside of any page, or an error of ours, which the log has by the number that is shown. */
export function tellBrowser({ parts, words, files }: Kit): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent || !isBrowser(request)) return next(error);
    const own = words[languageOf(request)];
    const token = parts.sessions.formToken(cookieOf(request, SESSION_COOKIE));
    const is_refusal = error instanceof PuenteError;
    const request_id = randomUUID();
    if (!is_refusal)
      parts.log.error('a page could not be made', { cause: String(error), path: request.path, request_id });
    const content = is_refusal
      ? refusal(own, error)
      : html`<p class="notice bad" role="alert">${own.t('broken.says', { id: request_id })}</p>`;
    const back = html`${content}<p><a href="/">${own.t('nav.fleet')}</a></p>`;
    response.status(is_refusal ? statusOf(error.code) : 500);
    sendPage(response, bareLayout(files, own, '/', token, { title: own.t('refused.title'), content: back })).catch(
      next,
    );
  };
}
