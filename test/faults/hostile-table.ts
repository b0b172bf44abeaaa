/** Heads that two servers could read differently, byte for byte; each would be the head of a create. */
import { connect } from 'node:net';
import { ARGENTINA, DEVICE, POINT, tokenOf } from '../kit.ts';
import { rawRequest } from '../proxy/http/raw.ts';

export const CREATE = `${POINT}/devices/${DEVICE}/payment-intents`;
export const BEARER = `Authorization: Bearer ${tokenOf(ARGENTINA)}`;
export const JSON_TYPE = 'Content-Type: application/json';
const BODY = '{"amount":1500}';
export const START = [`POST ${CREATE} HTTP/1.1`, 'Host: till.example', BEARER, JSON_TYPE];
/** Smuggled behind a create; a server that takes it for a request sends a second answer. */
const SMUGGLED = `GET ${POINT}/devices HTTP/1.1\r\nHost: till.example\r\n\r\n`;

/** A create as tills send it, with the test's own request line and headers. */
export function creation(line: string, headers: string[], body: string = BODY): Buffer {
  return rawRequest(line, [BEARER, JSON_TYPE, ...headers], body);
}

/** Exact bytes: no helper adds what the test omits. */
export function exactly(...lines: string[]): Buffer {
  return Buffer.from(lines.join('\r\n'), 'latin1');
}

/** Sends bytes, and reads until the other side closes the connection. @param patience_ms of silence that end it, too. */
export function untilClosed(url: string, bytes: string | Buffer, patience_ms = 0): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setTimeout(patience_ms, () => socket.destroy());
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined); // a reset also ends it
    socket.on('close', () => resolve(text));
  });
}

/** Heads by their fault (`test/faults/README.md` F78–F83, F88). */
export const ambiguousHeads: Record<string, Buffer> = {
  'two hosts': creation(`POST ${CREATE}`, ['Host: other.example']),
  'the same host twice': creation(`POST ${CREATE}`, ['Host: till.example']),
  'two authorizations': creation(`POST ${CREATE}`, ['authorization: Bearer other']),
  'two content types': creation(`POST ${CREATE}`, ['content-type: text/plain']),
  'two idempotency keys': creation(`POST ${CREATE}`, ['X-Idempotency-Key: a', 'x-idempotency-key: b']),
  'a length and chunks': exactly(
    ...START,
    'Content-Length: 6',
    'Transfer-Encoding: chunked',
    '',
    `0\r\n\r\n${SMUGGLED}`,
  ),
  'chunks and a length': exactly(
    ...START,
    'Transfer-Encoding: chunked',
    'Content-Length: 15',
    '',
    `0\r\n\r\n${SMUGGLED}`,
  ),
  'two lengths': exactly(...START, 'Content-Length: 15', 'Content-Length: 0', '', BODY + SMUGGLED),
  'two lengths in one header': exactly(...START, 'Content-Length: 15, 15', '', BODY),
  'a length with a sign': exactly(...START, 'Content-Length: +15', '', BODY),
  'a negative length': exactly(...START, 'Content-Length: -1', '', BODY),
  'a hexadecimal length': exactly(...START, 'Content-Length: 0xf', '', BODY),
  'a length beyond 2^64': exactly(...START, 'Content-Length: 18446744073709551631', '', BODY),
  'line feeds alone': Buffer.from(`POST ${CREATE} HTTP/1.1\nHost: a\n${BEARER}\nContent-Length: 15\n\n${BODY}`),
  'a folded header': exactly(...START, 'X-A: b', ' c', 'Content-Length: 15', '', BODY),
  'a space before the colon': exactly(...START, 'Content-Length : 15', '', BODY),
  'a space before the first header': exactly(START[0] ?? '', ' Host: a', BEARER, 'Content-Length: 15', '', BODY),
  'a NUL in a header': exactly(...START, 'X-A: b\0c', 'Content-Length: 15', '', BODY),
  'a NUL in a name': exactly(...START, 'X\0A: b', 'Content-Length: 15', '', BODY),
  'a bare carriage return in a header': exactly(...START, 'X-A: b\rX-B: c', 'Content-Length: 15', '', BODY),
  'no host': exactly(`POST ${CREATE} HTTP/1.1`, BEARER, 'Content-Length: 15', '', BODY),
  xchunked: exactly(...START, 'Transfer-Encoding: xchunked', '', '0\r\n\r\n'),
  'gzip, chunked': exactly(...START, 'Transfer-Encoding: gzip, chunked', '', '0\r\n\r\n'),
  'chunked, identity': exactly(...START, 'Transfer-Encoding: chunked, identity', '', '0\r\n\r\n'),
  'chunked twice': exactly(...START, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked', '', '0\r\n\r\n'),
  'chunked twice in one header': exactly(...START, 'Transfer-Encoding: chunked, chunked', '', '0\r\n\r\n'),
  'chunked with a tab': exactly(...START, 'Transfer-Encoding:\x0bchunked', '', '0\r\n\r\n'),
  'chunks in HTTP/1.0': exactly(
    `POST ${CREATE} HTTP/1.0`,
    'Host: a',
    BEARER,
    'Transfer-Encoding: chunked',
    '',
    `0\r\n\r\n${SMUGGLED}`,
  ),
  'a connection that takes the token away': creation(`POST ${CREATE}`, ['Connection: close, Authorization']),
  'a connection that takes the length away': creation(`POST ${CREATE}`, ['Connection: content-length']),
  'another method in a header': creation(`POST ${CREATE}`, ['X-HTTP-Method-Override: DELETE']),
  TRACE: exactly(`TRACE ${CREATE} HTTP/1.1`, 'Host: a', BEARER, '', ''),
  'a method that is none': exactly(`STEAL ${CREATE} HTTP/1.1`, 'Host: a', BEARER, '', ''),
  'HTTP/0.9': exactly(`GET ${CREATE}`, ''),
  'HTTP/3.0': exactly(`GET ${CREATE} HTTP/3.0`, 'Host: a', '', ''),
  'the preface of HTTP/2': exactly('PRI * HTTP/2.0', '', 'SM', '', ''),
  'a TLS hello on a plain door': Buffer.from('160301000501000001000', 'hex'),
  'an absolute target of another scheme': creation(`POST ftp://other.example${CREATE}`, []),
  'an absolute target with a name and a password': creation(`POST http://till:secret@other.example${CREATE}`, []),
  'an absolute target without a host': creation(`POST http://${CREATE}`, []),
  'an absolute target with a fragment': creation(`POST http://other.example${CREATE}#x`, []),
  'an asterisk for a target': exactly('GET * HTTP/1.1', 'Host: a', BEARER, '', ''),
  'a target without a slash': exactly(`GET ${CREATE.slice(1)} HTTP/1.1`, 'Host: a', '', ''),
  'a backslash for a slash': creation(`POST ${CREATE.replace('/payment-intents', '\\payment-intents')}`, []),
  'a fragment of the path': creation(`POST ${CREATE}#x`, []),
  'a space in the target': exactly(`GET ${CREATE} /x HTTP/1.1`, 'Host: a', '', ''),
  'a control byte in the target': exactly(`GET ${CREATE}\x01 HTTP/1.1`, 'Host: a', '', ''),
  'a header of sixteen kilobytes': creation(`POST ${CREATE}`, [`X-Long: ${'x'.repeat(16_384)}`]),
  'two thousand headers': creation(`POST ${CREATE}`, Array(2_000).fill('a:')),
  'a target of sixteen kilobytes': creation(`POST ${CREATE}?${'x'.repeat(16_384)}`, []),
};
