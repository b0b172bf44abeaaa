/** HAR 1.2, exported by browsers and proxies: one JSON document with all calls. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { bodyOf, momentOf, NO_TIME, placeOf, type ReadCall } from './call.ts';

/** The calls of a HAR in order, or the error of an entry. @throws PuenteError bad_request when it is not a HAR. */
export function callsOfHar(text: string): (ReadCall | string)[] {
  let value: unknown;
  try {
    // Amounts are inside bodies: strings that are parsed exactly later. No number of the HAR itself is an amount.
    value = JSON.parse(text);
  } catch {
    throw new PuenteError(
      'bad_request',
      'The file begins as a HAR and is no JSON: it was cut, or damaged. Export it again.',
    );
  }
  const har = document.safeParse(value);
  if (!har.success)
    throw new PuenteError('bad_request', 'The file begins as a HAR and has no log.entries. Export it again.');
  return har.data.log.entries.map(callOfEntry);
}

function callOfEntry(value: unknown): ReadCall | string {
  const parsed = entry.safeParse(value);
  if (!parsed.success) return `${parsed.error.issues[0]?.path.join('.') ?? 'the entry'} is missing or invalid`;
  const { request, response, startedDateTime, time } = parsed.data;
  const place = placeOf(request.url);
  if (place === null) return 'request.url is no URL';
  const moment = momentOf(startedDateTime);
  if (moment === undefined) return `startedDateTime ${NO_TIME}`;
  // Exporters write status 0 for a call without an answer.
  const answered = response !== undefined && response.status >= 100;
  return {
    method: request.method.toUpperCase(),
    ...place,
    headers: headersOf(request.headers),
    body: bodyOf(sent(request.postData)),
    answer: answered
      ? { status: response.status, headers: headersOf(response.headers), body: bodyOf(textOf(response.content)) }
      : null,
    at: moment,
    duration_ms: time ?? null,
    is_logged: false,
  };
}

/** A form may be in `params` instead of `text`. */
function sent(data: z.infer<typeof posted> | undefined | null): string | undefined {
  const text = textOf(data);
  if (text !== undefined && text !== '') return text;
  const fields = data?.params ?? [];
  return fields.length === 0
    ? undefined
    : new URLSearchParams(fields.map(({ name, value }): [string, string] => [name, value])).toString();
}

function textOf(
  data: { text?: string | undefined; encoding?: string | undefined } | undefined | null,
): string | undefined {
  if (data?.text === undefined || data.encoding !== 'base64') return data?.text;
  return Buffer.from(data.text, 'base64').toString('utf8');
}

/** Leaves out the pseudo-headers of HTTP/2. */
function headersOf(list: readonly { name: string; value: string }[]): Record<string, string> {
  const pairs = list.filter(({ name }) => !name.startsWith(':')).map(({ name, value }) => [name.toLowerCase(), value]);
  return Object.fromEntries(pairs);
}

const headers = z.array(z.object({ name: z.string(), value: z.string() })).default([]);
const posted = z.object({
  text: z.string().optional(),
  encoding: z.string().optional(),
  params: z.array(z.object({ name: z.string(), value: z.string().default('') })).optional(),
});
const entry = z.object({
  startedDateTime: z.string().optional(),
  time: z.number().nonnegative().optional().catch(undefined),
  request: z.object({
    method: z.string().regex(/^[A-Za-z]{1,10}$/),
    url: z.string(),
    headers,
    postData: posted.nullish(),
  }),
  response: z
    .object({
      status: z.int().catch(0),
      headers,
      content: z.object({ text: z.string().optional(), encoding: z.string().optional() }).optional(),
    })
    .optional(),
});
const document = z.object({ log: z.object({ entries: z.array(z.unknown()) }) });
