/** The settings of a merchant, each with its value, and the form that changes them; its choices are those of the API's schema. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { code, type Html, html } from '../html.ts';
import { type MerchantView, merchantChange } from '../merchants.ts';
import { type Fields, type Form, instantOf, linkTo, listIn, merchantPath, type Page, type Visit } from './kit.ts';
import { actForm, field, hidden } from './parts.ts';

export const settingsPage: Page = {
  path: '/merchants/:id/settings',
  async show(visit) {
    const { t } = visit.words;
    const view = await visit.ask('GET /api/merchants/:id', { path: visit.path });
    const tables = await visit.ask('GET /api/tables');
    const { revision, laid } = tables.merchants.find(({ merchant_id }) => merchant_id === view.id) ?? tables;
    const back = merchantPath(view.id);
    const fields = html`<div class="target">${CHOICES.map((one) => choice(visit, view, one))}${KEPT.map((name) => kept(visit, view, name))}${Object.entries(textsIn(view)).map(([name, value]) => text(visit, name, value))}</div>`;
    const content = html`<p class="lead">${t('settings.lead')}</p>
<section>${actForm(visit, `${back}/settings`, 'settings-reason', t('settings.save'), '', [fields, hidden('revision', view.revision)])}</section>
<p>${t('settings.tables', { revision, rows: laid.length })} <a href="${linkTo('/explain', { merchant: view.id })}">${t('explainer.go')}</a></p>
<p><a href="${back}">${t('merchant.title', { id: view.id })}</a></p>`;
    return { title: t('settings.title', { id: view.id }), content };
  },
};

export const settingsForm: Form = {
  path: settingsPage.path,
  page: settingsPage,
  async send(visit, sent) {
    const { path } = visit;
    const view = await visit.ask('GET /api/merchants/:id', { path });
    const changes = changesIn(view, sent);
    if (Object.keys(changes).length === 0) throw new PuenteError('bad_request', say('refusal.no_setting', {}));
    const body = { ...changes, reason: sent.reason, revision: Number(sent.revision) };
    const { result } = await visit.ask('PUT /api/merchants/:id', { path, body });
    return `${merchantPath(view.id, '/settings')}?done=${result}`;
  },
};

interface Choice {
  name: string;
  values: readonly string[];
}

/** Settings with a few values. */
const CHOICES: readonly Choice[] = Object.entries(merchantChange.shape).flatMap(([name, schema]) => {
  const values = valuesOf(schema);
  return values === null ? [] : [{ name, values }];
});

/** Null for a setting with any text. */
function valuesOf(schema: unknown): string[] | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return valuesOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return valuesOf(schema.out);
  if (schema instanceof z.ZodBoolean) return ['true', 'false'];
  return schema instanceof z.ZodEnum ? schema.options.map(String) : null;
}

/** Settings that are stored sealed and not shown whole: an empty field leaves them as they are. */
const KEPT = ['notice_url', 'notice_secret', 'credential'] as const;
/** Typed into such a field, restores the default, as in the command. */
const DEFAULT = 'default';

/** The fields of the setting `deprecation`. */
const deprecation = z
  .object({ deprecated_at: z.int().nullable(), sunset_at: z.int().nullable(), link: z.string().nullable() })
  .nullable();

/** In words; beside each the value that the command takes. */
function choice({ words: { t }, sent }: Visit, view: MerchantView, { name, values }: Choice): Html {
  const { value, from } = view.settings[name] ?? { value: null, from: 'default' };
  const wordOf = (one: string): string => t(`choice.${one}`);
  const own = t('settings.default');
  const fallback = from === 'default' && value !== null ? `${own}: ${wordOf(String(value))}` : own;
  const pairs = [['', fallback] as const, ...values.map((one) => [one, wordOf(one)] as const)];
  const codes = values.map((one, nth) => html`${nth === 0 ? '' : ' · '}${wordOf(one)} ${code(one)}`);
  return field.select(name, labelOf(t, name), pairs, sent[name] ?? ownIn(view, name), name, codes);
}

function kept({ words: { t } }: Visit, view: MerchantView, name: (typeof KEPT)[number]): Html {
  const url = view.settings.notice_url?.value;
  const now =
    name === 'notice_url'
      ? typeof url === 'string'
        ? url
        : t('merchant.not_set')
      : t(view[name] === 'set' ? 'merchant.set' : 'merchant.not_set');
  const type = name === 'notice_url' ? 'text' : 'password';
  return field.input(name, labelOf(t, name), '', html` type="${type}" placeholder="${now}" autocomplete="off"`);
}

function text({ words: { t }, sent }: Visit, name: string, value: string): Html {
  return (name.endsWith('_at') ? field.time : field.input)(name, labelOf(t, name), sent[name] ?? value);
}

/** As other forms write their labels; lists and sentences have the name of a setting in lower case. */
function labelOf(t: Visit['words']['t'], name: string): string {
  const label = t(`setting.${name}`);
  return label.charAt(0).toUpperCase() + label.slice(1);
}

/** The merchant's own value; '' for the default. */
function ownIn({ settings }: MerchantView, name: string): string {
  const { value, from } = settings[name] ?? { value: null, from: 'default' };
  return from === 'merchant' ? String(value) : '';
}

/** As the form has them. */
function textsIn({ name, tags, settings }: MerchantView) {
  const {
    deprecated_at = null,
    sunset_at = null,
    link = null,
  } = deprecation.parse(settings.deprecation?.value ?? null) ?? {};
  const shown = (at: number | null): string => (at === null ? '' : new Date(at).toISOString().slice(0, 16));
  const dates = { deprecated_at: shown(deprecated_at), sunset_at: shown(sunset_at), link: link ?? '' };
  const extra = settings.point_notice_extra?.value ?? null;
  const point_notice_extra = extra === null ? '' : JSON.stringify(extra);
  return { name: name ?? '', tags: tags.join(', '), point_notice_extra, ...dates };
}

/** Only what differs from the merchant, because the audit line lists what is sent. */
function changesIn(view: MerchantView, sent: Fields): Record<string, unknown> {
  const chosen = CHOICES.filter(({ name }) => sent[name] !== undefined && sent[name] !== ownIn(view, name));
  const typed = KEPT.filter((name) => (sent[name] ?? '') !== '');
  const before = textsIn(view);
  const { name, tags, point_notice_extra: extra, deprecated_at, sunset_at, link } = { ...before, ...sent };
  const at = (text: string): number | null => (text === '' ? null : Date.parse(instantOf(text)));
  const dates = { deprecated_at: at(deprecated_at), sunset_at: at(sunset_at), link: link === '' ? null : link };
  const is_same = deprecated_at === before.deprecated_at && sunset_at === before.sunset_at && link === before.link;
  const is_none = Object.values(dates).every((one) => one === null);
  return {
    ...Object.fromEntries(
      [...chosen.map(({ name }) => name), ...typed].map((name) => [name, apiValue(sent[name] ?? '')]),
    ),
    ...(name === before.name ? {} : { name: name === '' ? null : name }),
    ...(tags === before.tags ? {} : { tags: listIn(tags) }),
    ...(extra === before.point_notice_extra ? {} : { point_notice_extra: extra === '' ? null : readJson(extra) }),
    ...(is_same ? {} : { deprecation: is_none ? null : dates }),
  };
}

function apiValue(text: string): string | boolean | null {
  if (text === '' || text === DEFAULT) return null;
  return text === 'true' || (text === 'false' ? false : text);
}

/** Text that is no JSON stays as it is, because the API says best what it takes. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
