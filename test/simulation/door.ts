/** Requests and answers without sockets, for Express routers: the parts of Node's classes that the handlers use. */
import { EventEmitter } from 'node:events';
import type { RequestHandler } from 'express';

export interface Ask {
  method: string;
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: Buffer | null;
  /** Number of the till's call. */
  call?: number;
}

export interface Reply {
  status: number;
  headers: Record<string, string>;
  text: string;
}

export type Handled = Parameters<RequestHandler>;

export function simulatedRequest({ method, url, headers, body, call }: Ask): Handled[0] {
  let unread = body;
  const length = body === null ? {} : { 'content-length': String(body.length) };
  const all = { ...headers, ...length };
  const [path = ''] = url.split('?', 1);
  const request = {
    method,
    url,
    originalUrl: url,
    path,
    baseUrl: '',
    headers: all,
    rawHeaders: Object.entries(all).flat(),
    httpVersion: '1.1',
    complete: true,
    readableEnded: false,
    body: body ?? undefined,
    get: (name: string) => all[name.toLowerCase() as keyof typeof all],
    read() {
      const chunk = unread;
      unread = null;
      return chunk;
    },
    unshift(chunk: Buffer) {
      unread = chunk;
    },
    call,
    once: () => request,
    off: () => request,
  };
  return request as unknown as Handled[0]; // the handlers use only these members
}

/** Answers once, by `tell`; after `cut` the answer is dropped. */
export class SimulatedResponse extends EventEmitter {
  statusCode = 200;
  headersSent = false;
  closed = false;
  writableFinished = false;
  readonly req: Handled[0];
  readonly #headers: Record<string, string> = {};
  #tell: ((reply: Reply) => void) | null;

  constructor(request: Handled[0], tell: (reply: Reply) => void) {
    super();
    this.req = request;
    this.#tell = tell;
  }

  writeHead(status: number, headers: Record<string, unknown> = {}): this {
    this.statusCode = status;
    this.headersSent = true;
    for (const [name, value] of Object.entries(headers)) this.#headers[name.toLowerCase()] = String(value);
    return this;
  }

  setHeader(name: string, value: unknown): this {
    this.#headers[name.toLowerCase()] = String(value);
    return this;
  }

  getHeader(name: string): string | undefined {
    return this.#headers[name.toLowerCase()];
  }

  status(code: number): this {
    this.statusCode = code;
    return this;
  }

  json(value: unknown): this {
    return this.setHeader('content-type', 'application/json').end(JSON.stringify(value));
  }

  end(text: string | Buffer = ''): this {
    const tell = this.#tell;
    if (tell === null) return this;
    this.#tell = null;
    this.headersSent = true;
    this.writableFinished = true;
    tell({ status: this.statusCode, headers: this.#headers, text: String(text) });
    return this;
  }

  /** The connection has ended: the client has its answer, or has hung up. */
  close(): void {
    if (this.closed) return;
    this.#tell = null;
    this.closed = true;
    this.emit('close');
  }

  /** The process was killed: nothing is sent and no listener runs. */
  cut(): void {
    this.#tell = null;
    this.removeAllListeners();
  }

  asExpress(): Handled[1] {
    return this as unknown as Handled[1]; // the handlers use only these members
  }
}
