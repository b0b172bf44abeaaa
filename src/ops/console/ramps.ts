/** Ramps: the list, one ramp with what each step waits for, and the forms that look at, start and steer one. */
import { PuenteError } from '../../error.ts';
import type { Words } from '../../locales/words.ts';
import { HOUR_MS } from '../fields.ts';
import { type Content, type Html, html, says, timeOf } from '../html.ts';
import type { RampView } from '../moves/ramp.ts';
import type { RampStepView } from '../moves/ramp-evidence.ts';
import { stepsIn } from '../moves/typed-lists.ts';
import { namedAs } from '../seen.ts';
import { whomFields, whomOf } from './bulk.ts';
import { type Fields, type Form, given, linkTo, type Page, type Visit } from './kit.ts';
import { refusal } from './layout.ts';
import { actForm, badge, field, hidden, merchantLink, olderPages, section, table, unlessUnseen } from './parts.ts';
import { previewOf } from './stage-control.ts';

/** Of `POST /api/ramps/:id/…`, by the state in which each may be done. */
const ACTS = {
  proposed: ['approve', 'cancel'],
  running: ['pause', 'cancel'],
  paused: ['resume', 'cancel'],
  done: [],
  aborted: [],
} as const satisfies Record<RampView['state'], readonly string[]>;

/** Ramps on a page of the list. */
const PER_PAGE = 50;

/** With the fields of a new ramp in its address it shows what that would do, and the form that starts it. */
export const rampList: Page = {
  path: '/ramps',
  async show(visit) {
    const { words, query, ask } = visit;
    const { t } = words;
    const { merchant, open, before } = query;
    const filter = given({ merchant, open: open === 'true' ? open : '', before, limit: PER_PAGE });
    const list = await unlessUnseen(words, ask('GET /api/ramps', { query: filter }), ({ ramps }) => {
      const last = ramps.length < PER_PAGE ? undefined : ramps.at(-1)?.id;
      return html`${rampTable(words, ramps)}${olderPages(words, '/ramps', query, last)}`;
    });
    const content = html`<p class="lead">${t('ramps.list_lead')}</p>
<form class="filters" action="/ramps" method="get">
${field.whose(words, merchant)}
${field.tick('open', t('ramps.only_open'), open)}
<p><button>${t('board.show')}</button></p></form>
${list}
${section('start', t('ramps.begin'), await starting(visit), t('ramps.start_lead'))}`;
    return { title: t('ramps.all'), content };
  },
};

function rampTable(words: Words, ramps: readonly RampView[]): Html {
  const { t } = words;
  const rows = ramps.map((ramp) => ({
    started: html`<a href="${rampPath(ramp.id)}">${timeOf(words, ramp.created_at)}</a>`,
    who: ramp.who,
    state: stateOf(words, ramp),
    plan: planOf(words, ramp),
    merchants: merchantsOf(words, ramp),
    why: says(words, ramp.why, ramp.said),
  }));
  return table(words, 'ramp_list', t('ramps.all'), rows, t('ramps.none'));
}

/** Refreshed until the ramp has ended, with its forms: it may pause itself. `?merchant=` chooses whose conditions are shown. */
export const rampPage: Page = {
  path: '/ramps/:id',
  async show(visit) {
    const { words, path, query, ask } = visit;
    const { t } = words;
    const id = path.id ?? '';
    const ramp = await ask('GET /api/ramps/:id', { path: { id } });
    const { merchants } = ramp;
    const merchant =
      query.merchant ?? (merchants.find(({ state }) => state === 'waiting') ?? merchants[0])?.merchant_id;
    // An erased merchant leaves a ramp without any.
    const step =
      merchant === undefined ? null : await ask('GET /api/ramps/:id/merchants/:merchant', { path: { id, merchant } });
    const here = linkTo(rampPath(id), { merchant });
    const forms = steering(visit, ramp);
    const again =
      forms.length > 0 ? html` hx-get="${here}" hx-trigger="every 10s" hx-select="#ramp" hx-swap="outerMorph"` : '';
    const rows = merchants.map((one) => ({
      merchant: html`<a href="${linkTo(rampPath(id), { merchant: one.merchant_id })}">${namedAs(one.merchant_id, one.merchant_name)}</a>`,
      state: badge(one.state === 'moved' ? 'good' : 'shadow', t(`ramps.merchant.${one.state}`)),
      step: t('ramps.step', { step: one.step, of: ramp.steps.length }),
      now: placeOf(words, one.now),
      since: timeOf(words, one.since_at),
      why: says(words, one.why, one.said),
    }));
    const content = html`<section id="ramp"${again}><p>${stateOf(words, ramp)} ${planOf(words, ramp)}</p>
<p>${says(words, ramp.why, ramp.said)}</p>${expiry(words, ramp)}
<p class="lead">${timeOf(words, ramp.created_at)}, ${ramp.who}: <span>${ramp.reason}</span></p>
${step && conditionsOf(visit, step)}
<h3>${t('bulk.merchants')}</h3>${table(words, 'ramp_merchants', t('bulk.merchants'), rows)}
${forms.length === 0 ? '' : html`<div id="steer"><h3>${t('ramps.steer')}</h3>${forms}</div>`}</section>
<p><a href="/ramps">${t('ramps.all')}</a></p>`;
    return { title: t('ramps.one'), content };
  },
};

function conditionsOf({ words }: Visit, { merchant_id, merchant_name, ...one }: RampStepView): Html {
  const { t } = words;
  const { conditions, now, step, of, next } = one;
  const rows = conditions.map(({ condition, is_met, what, said }) => ({
    condition: t(`ramps.condition.${condition}`),
    met: badge(is_met ? 'good' : 'warn', t(is_met ? 'ramps.met' : 'ramps.waits')),
    what: says(words, what, said),
  }));
  const title = t('ramps.conditions');
  return html`<h2>${title}: ${merchantLink(merchant_id, merchant_name)}</h2>
<p>${t('ramps.next', { now: placeOf(words, now), step, of, next: next === null ? t('ramps.end') : placeOf(words, next) })}</p>
${table(words, 'ramp_conditions', title, rows, t('ramps.over'))}`;
}

/** On the page of a merchant: its ramps that have not ended, each steered on its own page, or where one is started. */
export function ramps({ words }: Visit, id: string, open: readonly RampView[]): Html {
  const { t } = words;
  const shown = open.map((ramp) => {
    const mine = ramp.merchants.find(({ merchant_id }) => merchant_id === id);
    const place =
      mine === undefined
        ? null
        : html`<p><strong>${placeOf(words, mine.now)}</strong>, ${t('ramps.step', { step: mine.step, of: ramp.steps.length })}, ${timeOf(words, mine.since_at)}</p><p>${says(words, mine.why, mine.said)}</p>`;
    return html`<p>${stateOf(words, ramp)} <a href="${linkTo(rampPath(ramp.id), { merchant: id })}">${planOf(words, ramp)}</a></p>
<p>${says(words, ramp.why, ramp.said)}</p>${expiry(words, ramp)}${place}`;
  });
  const start = html`<p><a href="${linkTo('/ramps', { merchants: id })}#start">${t('ramps.begin')}</a></p>`;
  return section('ramps', t('ramps.title'), html`${shown.length === 0 ? start : shown}`, t('ramps.lead'));
}

// Parts of both.

/** Such as `canary 25 %`, with the stage in the reader's language. */
function placeOf({ named }: Words, place: string): string {
  return place.replace(/^\w+/, (stage) => named(`stage.${stage}`, stage)).replace(' %', '\u00a0%');
}

function rampPath(id: string): string {
  return `/ramps/${encodeURIComponent(id)}`;
}

const STATE_BADGES: Readonly<Record<RampView['state'], string>> = {
  proposed: 'warn',
  running: 'canary',
  paused: 'warn',
  done: 'good',
  aborted: 'shadow',
};

function stateOf(words: Words, { state }: RampView): Html {
  return badge(STATE_BADGES[state], words.t(`ramps.${state}`));
}

function planOf({ t, number }: Words, { steps, soak_ms, min_sales, who }: RampView): string {
  return t('ramps.plan', {
    steps: steps.map((share) => `${number(share)} %`).join(', '),
    hours: number(soak_ms / HOUR_MS),
    sales: min_sales,
    name: who,
  });
}

/** Merchants that a list names before it counts the rest. */
const MOST_NAMED = 5;

function merchantsOf(words: Words, { merchants }: RampView): Html {
  const named = merchants
    .slice(0, MOST_NAMED)
    .map(
      ({ merchant_id, merchant_name, now }) =>
        html`${merchantLink(merchant_id, merchant_name)} ${placeOf(words, now)}<br>`,
    );
  const more = merchants.length - MOST_NAMED;
  return html`${named}${more > 0 ? `… + ${more}` : ''}`;
}

function expiry(words: Words, { expires_at }: RampView): Content {
  return expires_at === null ? null : html`<p>${words.t('ramps.expires')} ${timeOf(words, expires_at)}</p>`;
}

/** One form for each act that the state allows. */
function steering(visit: Visit, { id, state }: RampView): Html[] {
  const kindOf = (act: string): string => (act === 'cancel' ? 'quiet' : '');
  return ACTS[state].map((act) =>
    actForm(visit, `${rampPath(id)}/${act}`, `${act}-reason`, visit.words.t(`ramps.${act}`), kindOf(act)),
  );
}

function planFields({ words: { t } }: Visit, from: Fields): Html {
  const input = (name: string, value: string, mode: string): Html => {
    const more = html` inputmode="${mode}" required autocomplete="off"`;
    return field.input(name, t(`ramps.${name}`), from[name] ?? value, more, `ramp-${name}`);
  };
  return html`<div class="target">${input('steps', '5, 25, 50, 100', 'text')}${input('soak_hours', '2', 'decimal')}${input('min_sales', '50', 'numeric')}</div>`;
}

// A new ramp, of merchants by name or by conditions: first what it would do, then the form that starts it.

const WHOM = ['merchants', 'from_stage', 'verdict', 'site', 'tag'] as const;
const PLAN = ['steps', 'soak_hours', 'min_sales'] as const;

async function starting(visit: Visit): Promise<Html> {
  const { words, sent, query } = visit;
  const { t } = words;
  const from = sent.steps === undefined ? query : sent;
  const look = html`<form class="change" action="/ramps#start" method="get"><div class="target">${whomFields(words, ['shadow', 'canary'], from)}</div>
${planFields(visit, from)}<button>${t('ramps.preview')}</button></form>`;
  return html`${look}${from.steps === undefined ? '' : await previewed(visit, from)}`;
}

async function previewed(visit: Visit, from: Fields): Promise<Html> {
  const { words } = visit;
  try {
    const { merchants } = await visit.ask('POST /api/ramps/preview', { body: bodyOf(from) });
    const each = merchants.map(
      ({ merchant_id, merchant_name, from: at, steps, judgement }) =>
        html`<details><summary>${namedAs(merchant_id, merchant_name)}: ${[at, ...steps].map((one) => placeOf(words, one)).join(' → ')} ${badge(judgement.allowed ? 'good' : 'warn', words.t(judgement.allowed ? 'ramps.met' : 'ramps.waits'))}</summary>${previewOf(words, judgement)}</details>`,
    );
    const kept = [...WHOM, ...PLAN].map((name) => hidden(name, from[name] ?? ''));
    const form = actForm(visit, '/ramps', 'ramp-reason', words.t('ramps.start'), '', kept);
    return html`<h3>${words.t('ramps.previewed')}</h3>${each}${form}`;
  } catch (error) {
    if (!(error instanceof PuenteError)) throw error;
    return refusal(words, error);
  }
}

/** What a form says of a new ramp; the API names an empty field. @throws PuenteError bad_request for steps that are no numbers. */
function bodyOf({ steps = '', soak_hours = '', min_sales = '', ...whom }: Fields) {
  const numberIn = (text: string, times = 1): number | undefined =>
    text.trim() === '' ? undefined : Math.round(Number(text.replace(',', '.')) * times);
  return {
    ...whomOf(whom),
    ...{ steps: stepsIn(steps), soak_ms: numberIn(soak_hours, HOUR_MS), min_sales: numberIn(min_sales) },
  };
}

// What the forms send.

export const rampForms: readonly Form[] = [
  {
    path: '/ramps',
    page: rampList,
    async send({ ask }, { reason, ...fields }) {
      const { id, state } = await ask('POST /api/ramps', { body: { ...bodyOf(fields), reason } });
      return `${rampPath(id)}?done=ramp_${state}`;
    },
  },
  ...(['approve', 'pause', 'resume', 'cancel'] as const).map(
    (act): Form => ({
      path: `/ramps/:id/${act}`,
      page: rampPage,
      async send({ ask, path }, { reason }) {
        const { id, state } = await ask(`POST /api/ramps/:id/${act}`, { path, body: { reason } });
        return `${rampPath(id)}?done=ramp_${state}`;
      },
    }),
  ),
];
