/** `Deprecation`, `Sunset` and `Link` headers for the makers of a merchant's tills, where its setting asks for them. */
import type { ServerResponse } from 'node:http';
import type { Operation } from '../../mapping/tables.ts';
import { type Merchant, routedKinds } from '../routing/merchant.ts';

/**
 * Sets the headers on an answer that has not begun, whichever lane writes it; an answer of legacy that has one of them
 * itself keeps its own. Only the calls that are being moved are deprecated: payments and their searches stay.
 */
export function markDeprecated(response: ServerResponse, merchant: Merchant | null, operation: Operation): void {
  if (response.headersSent || !routedKinds.some((kind) => kind === operation.kind)) return;
  for (const [name, value] of Object.entries(deprecationHeaders(merchant))) response.setHeader(name, value);
}

/** Empty where the merchant's setting asks for none. */
export function deprecationHeaders(merchant: Merchant | null): Record<string, string> {
  const setting = merchant?.settings.deprecation ?? null;
  if (setting === null) return {};
  const { deprecated_at, sunset_at, link } = setting;
  return {
    // A date of structured fields: seconds behind an @ (RFC 9745 §2.1).
    ...(deprecated_at === null ? {} : { deprecation: `@${Math.floor(deprecated_at / 1000)}` }),
    // An HTTP-date (RFC 8594 §3).
    ...(sunset_at === null ? {} : { sunset: new Date(sunset_at).toUTCString() }),
    // Written out by the URL parser, which leaves no character that could end the header or the brackets.
    ...(link === null ? {} : { link: `<${new URL(link).href}>; rel="deprecation"` }),
  };
}
