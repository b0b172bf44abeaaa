/** One HTTP call of a script, with the whole answer. */
import { request } from 'undici';

export interface Answer {
  status: number;
  /** Parsed JSON, or the text if it is not JSON. */
  body: unknown;
}

export interface CallParts {
  /** Text is sent unchanged, other values as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** @throws Error when no whole answer came. */
export async function send(
  method: string,
  url: string,
  { body, headers = {} }: CallParts = {},
  options: { signal?: AbortSignal; reset?: boolean } = {},
): Promise<Answer> {
  const answer = await request(url, {
    ...options,
    method: method as 'GET', // undici's list of methods is narrower
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
