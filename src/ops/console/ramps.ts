/** The ramps of a merchant on its page: place, what it waits for, and the forms that start and steer one. */
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { type Content, type Html, html, says, timeOf } from '../html.ts';
import { type RampView, rampView } from '../moves/ramp.ts';
import { type Fields, merchantPath, type Visit } from './kit.ts';
import { badge, changeForm, reasonField, section } from './parts.ts';

/** Of `POST /api/ramps/:id/…`, by the state in which each may be done. */
const ACTS = {
  proposed: ['approve', 'cancel'],
  running: ['pause', 'cancel'],
  paused: ['resume', 'cancel'],
  done: [],
  aborted: [],
} as const satisfies Record<RampView['state'], readonly string[]>;

const HOUR_MS = 3_600_000;

/** @param ramps those of the merchant that have not ended. */
export function ramps(visit: Visit, id: string, open: readonly RampView[]): Html {
  const { words } = visit;
  const { t } = words;
  const shown = open.length === 0 ? startForm(visit, id) : open.map((ramp) => rampOf(visit, id, ramp));
  return section('ramps', t('ramps.title'), html`${shown}`, t('ramps.lead'));
}

function rampOf(visit: Visit, merchant_id: string, ramp: RampView): Html {
  const { words } = visit;
  const { t, number } = words;
  const { id, state, steps, soak_ms, min_sales, who, why, said, merchants } = ramp;
  const mine = merchants.find((one) => one.merchant_id === merchant_id);
  const plan = t('ramps.plan', {
    steps: steps.map((share) => `${number(share)} %`).join(', '),
    hours: number(soak_ms / HOUR_MS),
    sales: min_sales,
    name: who,
  });
  const place: Content =
    mine === undefined
      ? null
      : html`<p><strong>${mine.now}</strong>, ${t('ramps.step', { step: mine.step, of: steps.length })}, ${timeOf(words, mine.since_at)}</p><p>${says(words, mine.why, mine.said)}</p>`;
  const forms = ACTS[state].map((act) =>
    changeForm(
      visit,
      merchantPath(merchant_id, `/ramps/${id}/${act}`),
      html`${reasonField(visit, `${act}-${id}`)}<button class="${act === 'cancel' ? 'quiet' : ''}">${t(`ramps.${act}`)}</button>`,
    ),
  );
  return html`<p>${badge(state === 'paused' ? 'warn' : 'canary', t(`ramps.${state}`))} ${plan}</p>
<p>${says(words, why, said)}</p>${place}${forms}`;
}

function startForm(visit: Visit, id: string): Html {
  const { t } = visit.words;
  const field = (name: string, text: string, value: string, mode: string): Html =>
    html`<label for="ramp-${name}">${text}</label><input id="ramp-${name}" name="${name}" type="text" inputmode="${mode}" required value="${visit.sent[name] ?? value}" autocomplete="off">`;
  const fields = html`${field('steps', t('ramps.steps'), '5, 25, 50, 100', 'text')}
${field('soak_hours', t('ramps.soak_hours'), '2', 'decimal')}
${field('min_sales', t('ramps.min_sales'), '50', 'numeric')}`;
  const form = html`${fields}${reasonField(visit, 'ramp-reason')}<button>${t('ramps.start')}</button>`;
  return html`<details><summary>${t('ramps.begin')}</summary>${changeForm(visit, merchantPath(id, '/ramps'), form)}</details>`;
}

type Send = (visit: Visit, id: string, fields: Fields) => Promise<string>;

/** The forms by their path below the merchant, and what they send. @returns the message key of the success (`done.…`). */
export const rampForms: readonly (readonly [path: string, send: Send])[] = [
  [
    '/ramps',
    async (visit, id, { steps = '', soak_hours = '', min_sales = '', reason }) => {
      const body = {
        merchants: [id],
        steps: steps
          .split(/[,\s]+/)
          .filter((one) => one !== '')
          .map(Number),
        soak_ms: Math.round(Number(soak_hours.replace(',', '.')) * HOUR_MS),
        min_sales: Number(min_sales),
        reason,
      };
      if (!body.steps.every(Number.isFinite)) throw new PuenteError('bad_request', say('input.steps', {}));
      return `ramp_${(await visit.ask('POST /api/ramps', rampView, { body })).state}`;
    },
  ],
  ...(['approve', 'pause', 'resume', 'cancel'] as const).map(
    (act) =>
      [
        `/ramps/:ramp/${act}`,
        async (visit: Visit, _id: string, { reason }: Fields) => {
          const path = { id: visit.path.ramp ?? '' };
          return `ramp_${(await visit.ask(`POST /api/ramps/:id/${act}`, rampView, { path, body: { reason } })).state}`;
        },
      ] as const,
  ),
];
