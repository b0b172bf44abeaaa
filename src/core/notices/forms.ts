/** In which form a QR sale's news goes out, IPN, webhook or both: decided when the notice is made. */
import type { QrNotices } from '../merchant.ts';
import type { NewNotice } from '../records/notices.ts';

/** News of a link before it is known in which form it is told. */
export type News = Omit<NewNotice, 'form'>;

/** What a `source_news` parameter in a notification URL asks for, as the guides say (`legacy-qr.md` §0 row 10). */
const asked: ReadonlyMap<string | null, QrNotices> = new Map([
  ['ipn', 'ipn'],
  ['webhooks', 'webhook'],
]);

/**
 * The notices that tell the news: one in each form that is wanted. Each form is a delivery of its own, with its own
 * attempts and its own order within the link, so that a receiver who knows one form only still gets that one in time.
 * @param url where they will go as far as is known now; null when nothing is set yet.
 * @param setting the merchant's `qr_notices`; `source_news` in the URL is stronger.
 */
export function inForms(news: readonly News[], url: string | null, setting: QrNotices): NewNotice[] {
  const wanted = askedBy(url) ?? setting;
  const forms = wanted === 'both' ? (['ipn', 'webhook'] as const) : ([wanted] as const);
  return news.flatMap((one): NewNotice[] =>
    one.topic === 'point' ? [{ ...one, form: 'point' }] : forms.map((form) => ({ ...one, form })),
  );
}

function askedBy(url: string | null): QrNotices | undefined {
  const query = url?.split('?').slice(1).join('?') ?? '';
  return asked.get(new URLSearchParams(query).get('source_news'));
}
