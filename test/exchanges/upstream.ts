/** An upstream that answers only as the golden exchange says, and records every call that is not in it. */
import { createServer, type IncomingMessage } from 'node:http';
import { listen, shut } from '../listen.ts';
import type { Answer, Step } from './kit.ts';
import { fill, learn, type Names } from './placeholders.ts';

export interface Heard {
  method: string;
  path: string;
  headers: Record<string, unknown>;
  body: unknown;
  text: string;
}

/** Calls find theirs by the merchant's token. */
export interface Scene {
  merchant: string;
  site: string;
  token: string;
  names: Names;
  /** The expected calls, in this order. */
  lines: Step[];
  spoken: Set<Step>;
  /** Answers calls without a line, while the exchange is prepared. */
  improvise: ((heard: Heard) => Answer) | null;
  /** The till has its answer: from now on a create in doubt may be repeated, with its key and its bytes. */
  answered: boolean;
  problems: string[];
  /** Resolves when every line was called, or an unexpected call came. */
  finished(): Promise<void>;
  wake: () => void;
}

export interface ScriptedUpstream {
  url: string;
  legacy_url: string;
  open(scene: Pick<Scene, 'merchant' | 'site' | 'token' | 'names'>): Scene;
  close(): Promise<void>;
}

/** Headers that every call may have; any other header must be in the file. */
const USUAL = new Set(
  'accept accept-encoding authorization connection content-length content-type host transfer-encoding user-agent'.split(
    ' ',
  ),
);

export async function startUpstream(): Promise<ScriptedUpstream> {
  const scenes = new Map<string, Scene>();
  const door = (to: 'orders' | 'legacy') =>
    createServer(async (incoming, response) => {
      const heard = await hear(incoming);
      const { status, headers, body, text = textOf(body) } = respond(sceneOf(scenes, heard), to, heard);
      const type = text === '' ? {} : { 'content-type': 'application/json' };
      response.writeHead(status, { ...type, ...headers }).end(text);
    });
  const orders = door('orders');
  const legacy = door('legacy');
  const [url, legacy_url] = [`http://127.0.0.1:${await listen(orders)}`, `http://127.0.0.1:${await listen(legacy)}`];
  return {
    url,
    legacy_url,
    open(facts) {
      const scene: Scene = {
        ...facts,
        lines: [],
        spoken: new Set(),
        improvise: null,
        answered: false,
        problems: [],
        wake: () => undefined,
        async finished() {
          while (scene.spoken.size < scene.lines.length && scene.problems.length === 0) {
            await new Promise<void>((resolve) => {
              scene.wake = resolve;
            });
          }
        },
      };
      scenes.set(`Bearer ${facts.token}`, scene);
      return scene;
    },
    async close() {
      for (const server of [orders, legacy]) await shut(server);
    },
  };
}

/** A token in the query is proxied there (`docs/field-notes.md` QR finding 13). */
function sceneOf(scenes: ReadonlyMap<string, Scene>, { headers, path }: Heard): Scene | undefined {
  const inQuery = new URLSearchParams(path.split('?')[1] ?? '').get('access_token');
  return scenes.get(headers.authorization === undefined ? `Bearer ${inQuery}` : String(headers.authorization));
}

function respond(scene: Scene | undefined, to: 'orders' | 'legacy', heard: Heard): Answer {
  if (!scene) return { status: 401, body: { code: 'unauthorized', message: 'user not found' } };
  if (heard.path === '/users/me') return { status: 200, body: { id: Number(scene.merchant), site_id: scene.site } };
  if (scene.improvise) return scene.improvise(heard);
  const { answered, names } = scene;
  const repeated = answered && names.key !== undefined && heard.headers['x-idempotency-key'] === names.key;
  // A refused repeat leaves the create in doubt, and is not sent again at once (`docs/protocol.md` §3.5).
  if (repeated) return { status: 400, body: { errors: [{ code: 'bad_request', message: 'Not now.' }] } };
  const [line, ...beside] = nextLines(scene);
  if (!line) return wrong(scene, `${heard.method} ${heard.path} ${heard.text} is one call more than the exchange has`);
  const fitting = [line, ...beside].find((one) => difference(one, to, heard, { ...names }) === null);
  if (!fitting) return wrong(scene, difference(line, to, heard, names) ?? '');
  difference(fitting, to, heard, names); // again, to learn its names
  scene.spoken.add(fitting);
  scene.wake();
  const { status, headers = {}, body, text } = fitting.answer ?? { status: 500 };
  const filled = text === undefined ? { body: fill(body, names) } : { text: fill(text, names) };
  return { status, headers, ...filled };
}

/** The next expected call, with the calls that may be parallel to it. */
function nextLines({ lines, spoken }: Scene): Step[] {
  const left = lines.filter((line) => !spoken.has(line));
  const end = left.findIndex((line, index) => index > 0 && line.beside !== true);
  return end < 0 ? left : left.slice(0, end);
}

/** Upstream never answers 418, so this can't pass for a line of the exchange. */
function wrong(scene: Scene, problem: string): Answer {
  scene.problems.push(problem);
  scene.wake();
  return { status: 418, body: {} };
}

function difference({ request, to }: Step, door: string, heard: Heard, names: Names): string | null {
  learn(request.headers, heard.headers, names);
  learn(request.body, heard.body, names);
  const query = new URLSearchParams(request.query).toString();
  const path = fill(request.path, names) + (query === '' ? '' : `?${query}`);
  const golden = [to ?? 'orders', request.method, path, textOf(fill(request.body, names))];
  const actual = [door, heard.method, heard.path, heard.text];
  const index = golden.findIndex((part, at) => part !== actual[at]);
  if (index >= 0) return `upstream heard ${actual.join(' ')}\ninstead of     ${golden.join(' ')}`;
  if (to === 'legacy') return null;
  const wanted = fill(request.headers ?? {}, names);
  for (const [name, value] of Object.entries(wanted)) {
    if (heard.headers[name] !== value) return `${path}: header ${name} is ${String(heard.headers[name])}, not ${value}`;
  }
  const surplus = Object.keys(heard.headers).find((name) => !USUAL.has(name) && !Object.hasOwn(wanted, name));
  return surplus === undefined ? null : `${path}: header ${surplus} is not in the exchange`;
}

function textOf(body: unknown): string {
  if (body === undefined) return '';
  return typeof body === 'string' ? body : JSON.stringify(body);
}

async function hear(incoming: IncomingMessage): Promise<Heard> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer); // no encoding is set
  const text = Buffer.concat(chunks).toString('utf8');
  const { method = '', url = '', headers } = incoming;
  return { method, path: url, headers, text, body: text === '' ? undefined : parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
