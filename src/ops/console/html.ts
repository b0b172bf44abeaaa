/** Pages are written as templates that escape every value; only what is a template itself goes in as it is. */
import { html, raw as unescaped } from 'hono/html';

export { html };

/** Markup that is made elsewhere, and escaped there: the pictures of charts. */
export function raw(markup: string): Html {
  return html`${unescaped(markup)}`;
}

/** A piece of a page. */
export type Html = ReturnType<typeof html>;
/** What may stand between two tags; nothing for null. */
export type Content = Html | Html[] | string | number | null;

/** The text of a whole page. */
export async function textOf(page: Html): Promise<string> {
  return String(await page);
}
