/** `Expect: 100-continue`: a client holds its body back until it is told to send it (RFC 9110 §10.1.1). */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** On the request itself, as its call is (`ongoing.ts`). */
const HELD = Symbol('held back');
type Held = IncomingMessage & { [HELD]?: ServerResponse };

/** Notes that the client waits for a 100, or for a final answer in its place. */
export function noteHeldBack(request: IncomingMessage, response: ServerResponse): void {
  (request as Held)[HELD] = response;
}

/** The client was not asked for its body yet. */
export function isHeldBack(request: IncomingMessage): boolean {
  return (request as Held)[HELD] !== undefined;
}

/** Asks for the body, once; does nothing for a client that did not wait. */
export function askForBody(request: IncomingMessage): void {
  const response = (request as Held)[HELD];
  delete (request as Held)[HELD];
  if (response !== undefined && !response.headersSent && !response.destroyed) response.writeContinue();
}
