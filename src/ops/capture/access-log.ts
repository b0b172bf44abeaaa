/** Lines of access logs of nginx and Apache: method, target, status, and the host where the log names it. */
import { momentOf, placeOf, type ReadCall } from './call.ts';

/**
 * `common` and `combined` of both servers, each with the server's name before it (`vhost_combined`) or not, and with
 * further fields behind it or not. Quotes in a field are escaped: `\"` by Apache, `\x22` by nginx.
 */
const LINE =
  /^([^"[]+) \[(\d{2}\/[A-Z][a-z]{2}\/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4})\] "((?:[^"\\]|\\.)*)" (\d{3}) (?:\d+|-)(?: (.*))?$/;
const REQUEST = /^([A-Za-z]{1,10}) (\S+) HTTP\/\d(?:\.\d)?$/;
/** `$request_time` of nginx, seconds with three decimals: the only further field that is recognised by its form. */
const REQUEST_TIME = /(?:^|[ ="])(\d{1,6}\.\d{3})(?:["\s]|$)/;
/** The lowest status; nginx writes 000 for a call that it did not answer. */
const FIRST_STATUS = 100;

/** Whether a line has the form of an access log, whatever its request is. */
export function isLogLine(text: string): boolean {
  return LINE.test(text);
}

/** @returns the call, or an error sentence that repeats nothing of the line. */
export function callOfLogLine(text: string): ReadCall | string {
  const [, before = '', time = '', quoted = '', status = '', after = ''] = LINE.exec(text) ?? [];
  if (quoted === '') return 'it is no line of an access log: host, user, [time], "request", status, bytes';
  const [, method = '', target = ''] = REQUEST.exec(unescaped(quoted)) ?? [];
  const place = target === '' ? null : placeOf(target);
  if (place === null) return 'its request is no method, path and HTTP version';
  const at = momentOf(isoOf(time));
  if (at === undefined) return 'its time is of no day or hour that there is';
  const code = Number(status);
  return {
    method: method.toUpperCase(),
    target: place.target,
    host: place.host ?? serverOf(before),
    headers: {},
    body: undefined,
    answer: code < FIRST_STATUS ? null : { status: code, headers: {}, body: undefined },
    at,
    duration_ms: durationOf(after),
    is_logged: true,
  };
}

/**
 * The name of the server before `client ident user`, without its port; null without one. A user may contain blanks:
 * then the second word is the identity, which no server looks up any more.
 */
function serverOf(before: string): string | null {
  const words = before.split(' ');
  const [name = '', second] = words;
  if (words.length < 4 || second === '-') return null;
  const host = name.replace(/:\d*$/, '').toLowerCase();
  return /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(host) && !/^[_-]$/.test(host) ? host : null;
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replaceAll(/\\(?:x([0-9A-Fa-f]{2})|(.))/g, (_, code: string | undefined, mark: string) =>
    code === undefined ? mark : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** ISO 8601 of `31/Jan/2026:09:00:00 -0300`. */
function isoOf(time: string): string {
  const [, day = '', name = '', year = '', clock = '', hours = '', minutes = ''] =
    /^(\d{2})\/(\w{3})\/(\d{4}):([\d:]{8}) ([+-]\d{2})(\d{2})$/.exec(time) ?? [];
  const month = String(MONTHS.indexOf(name) + 1).padStart(2, '0');
  return `${year}-${month}-${day}T${clock}${hours}:${minutes}`;
}

function durationOf(after: string): number | null {
  const seconds = REQUEST_TIME.exec(after)?.[1];
  return seconds === undefined ? null : Math.round(Number(seconds) * 1_000);
}
