/** In which form news goes out, IPN, webhook or both: decided when the notice is made. */

import type { NewNotice, NoticeForm } from '../records/notices.ts';
import type { Dialect, PointPaymentNotices, QrNotices } from '../routing/merchant.ts';

/** News of a link before it is known in which form it is told. */
export type News = Omit<NewNotice, 'form'>;

/** The forms of what has a number; an intent's notice has the form of the merchant's dialect. */
export type FeedForm = Exclude<NoticeForm, 'point'>;

/**
 * The notices that tell the news: one in each form that is wanted. Each form is a delivery of its own, with its own
 * attempts, so that a receiver who knows one form only still gets that one in time.
 */
export function inForms(news: readonly News[], forms: readonly FeedForm[]): NewNotice[] {
  return news.flatMap((one): NewNotice[] =>
    one.topic === 'point' ? [{ ...one, form: 'point' }] : forms.map((form) => ({ ...one, form })),
  );
}

/**
 * The forms of a QR sale's notices.
 * @param url where they will go as far as is known now; null when nothing is set yet.
 * @param setting the merchant's `qr_notices`; `source_news` in the URL is stronger.
 * @param ipn_means `notices.source_news_ipn`: the guides and the specification contradict each other (`docs/field-notes.md` QR finding 10).
 */
export function qrForms(url: string | null, setting: QrNotices, ipn_means: FeedForm): readonly FeedForm[] {
  const query = url?.split('?').slice(1).join('?') ?? '';
  const source_news = new URLSearchParams(query).get('source_news');
  if (source_news === 'ipn') return [ipn_means];
  if (source_news === 'webhooks') return ['webhook'];
  return setting === 'both' ? ['ipn', 'webhook'] : [setting];
}

/**
 * The forms in which a Point sale's payment is told, beside the intent; none where it is not.
 * @param setting the merchant's `point_payment_notices`.
 */
export function pointPaymentForms(setting: PointPaymentNotices, dialect: Dialect): readonly FeedForm[] {
  if (setting === 'off') return [];
  if (dialect === 'point_integration_ipn') return ['ipn'];
  return setting === 'all' ? ['webhook'] : [];
}
