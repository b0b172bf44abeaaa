/** The frame of every page: navigation, search, the signed-in person, and the banner of a refusal or a success. */
import type { PuenteError } from '../../error.ts';
import { languages, type Words } from '../../locales/words.ts';
import { type Content, type Html, html, saysAll } from '../html.ts';
import type { ConsoleFiles, Shown, Visit } from './kit.ts';

/** Main pages, by what one comes for. */
const PLACES = [
  [
    'nav.watch',
    [
      ['/', 'nav.fleet'],
      ['/sales', 'nav.sales'],
      ['/notices', 'nav.notices'],
      ['/incidents', 'nav.incidents'],
    ],
  ],
  [
    'nav.move',
    [
      ['/bulk', 'bulk.title'],
      ['/ramps', 'ramps.all'],
      ['/plan', 'command.plan_title'],
      ['/drift', 'drift.title'],
      ['/brownouts', 'brownouts.title'],
      ['/decommission', 'nav.decommission'],
      ['/import', 'command.import_title'],
    ],
  ],
  [
    'nav.check',
    [
      ['/reports', 'nav.reports'],
      ['/audit', 'nav.audit'],
      ['/reconcile', 'reconcile.title'],
      ['/evidence', 'evidence.title'],
      ['/captures', 'captures.title'],
      ['/explain', 'explainer.title'],
    ],
  ],
  [
    'nav.system',
    [
      ['/limitations', 'nav.limitations'],
      ['/assumptions', 'nav.assumptions'],
      ['/doctor', 'doctor.title'],
      ['/backups', 'backups.title'],
    ],
  ],
] as const;

/** No inline style, which the policy forbids; and a refused refresh leaves the part and the title as they are. */
const HTMX = '{"includeIndicatorCSS":false,"noSwap":[204,304,"4xx","5xx"]}';

/** A page for a signed-in person. @param here path of the page. */
export function layout(files: ConsoleFiles, visit: Visit, here: string, { title, bar, content }: Shown): Html {
  const { words, person } = visit;
  const { t } = words;
  return frame(
    files,
    words,
    title,
    html`<header class="head">
  <a class="brand" href="/">Puente</a>
  <form class="find" action="/trace" method="get" role="search">
    <label class="unseen" for="find">${t('find.label')}</label>
    <input id="find" type="search" name="id" maxlength="256" placeholder="${t('find.hint')}" required>
    <button>${t('find.go')}</button>
  </form>
  <div class="who">
    <span>${person.name} <span class="role">${t(`role.${person.role}`)}</span></span>
    ${languageForm(words, here, visit.form_token)}
    <form action="/sign-out" method="post">${formToken(visit.form_token)}<button class="quiet">${t('sign.out')}</button></form>
  </div>
  <nav aria-label="${t('nav.label')}"><ul>${PLACES.map(
    ([group, places]) =>
      html`<li><span aria-hidden="true">${t(group)}</span><ul aria-label="${t(group)}">${places.map(
        ([path, key]) =>
          html`<li><a href="${path}"${isHere(path, here) ? html` aria-current="page"` : ''}>${t(key)}</a></li>`,
      )}</ul></li>`,
  )}</ul></nav>
</header>
<main id="main" tabindex="-1">
<h1>${title}</h1>
${bar ?? ''}
${visit.refused === null ? doneBanner(visit) : refusal(words, visit.refused)}
${content}
</main>`,
  );
}

/** A page without navigation, for visitors who are not signed in. */
export function bareLayout(files: ConsoleFiles, words: Words, here: string, form_token: string, shown: Shown): Html {
  return frame(
    files,
    words,
    shown.title,
    html`<main id="main" class="bare" tabindex="-1"><p class="brand">Puente</p><h1>${shown.title}</h1>${shown.content}
${languageForm(words, here, form_token)}</main>`,
  );
}

/** The hidden field that every form needs (`requireFormToken`). */
export function formToken(value: string): Html {
  return html`<input type="hidden" name="form_token" value="${value}">`;
}

/** A refusal in the reader's language; the API's sentences contain the repair. */
export function refusal(words: Words, { code, message, said, between }: PuenteError): Html {
  return html`<div class="notice bad" role="alert"><p><strong>${words.named(`refused.${code}`, words.t('refused.other'))}</strong></p>
<p>${saysAll(words, message, said, between)}</p></div>`;
}

function frame({ style, script, icon }: ConsoleFiles, { language, t }: Words, title: string, body: Content): Html {
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content="${HTMX}">
<title>${title} · Puente</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${style}">
<script src="${script}" defer></script>
</head>
<body>
<a class="skip" href="#main">${t('nav.skip')}</a>
${body}
</body>
</html>
`;
}

function languageForm({ language, t }: Words, here: string, form_token: string): Html {
  return html`<form class="languages" action="/language" method="post" aria-label="${t('language.label')}">
${formToken(form_token)}<input type="hidden" name="next" value="${here}">
${languages.map(
  (one) =>
    html`<button class="quiet" name="language" value="${one}" lang="${one}" title="${t(`language.${one}`)}"${one === language ? html` aria-pressed="true"` : html` aria-pressed="false"`}>${one}</button>`,
)}</form>`;
}

/** Confirms a form on the page after its redirect. */
function doneBanner({ query, words }: Visit): Content {
  const said = query.done === undefined ? '' : words.named(`done.${query.done}`, '');
  return said === '' ? null : html`<div class="notice good" role="status"><p>${said}</p></div>`;
}

function isHere(path: string, here: string): boolean {
  const [place = ''] = here.split('?');
  if (path === '/') return place === '/' || place.startsWith('/merchants/');
  return place === path || place.startsWith(`${path}/`);
}
