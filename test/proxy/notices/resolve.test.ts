/** Host names of receivers, with a DNS server that hangs, refuses or answers: a hanging name does not delay others. */
import { createSocket, type RemoteInfo } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { publicResolver, type Resolve } from '../../../src/proxy/notices/resolve.ts';

const TYPE_A = 1;
const NAME_ERROR = 3;
const SERVER_FAILURE = 2;
const ADDRESS = [93, 184, 215, 14];

const server = createSocket('udp4');
const hanging: { query: Buffer; from: RemoteInfo }[] = [];
let resolve: Resolve;
let here = '';
beforeAll(async () => {
  server.on('message', (query, from) => {
    const [label = ''] = labelsOf(query);
    if (label.startsWith('hang')) hanging.push({ query, from });
    else if (label === 'half' && typeOf(query) !== TYPE_A) hanging.push({ query, from });
    else if (label === 'missing') send(query, from, NAME_ERROR);
    else if (label === 'broken') send(query, from, SERVER_FAILURE);
    else send(query, from);
  });
  await new Promise<void>((bound) => server.bind(0, '127.0.0.1', bound));
  const { port } = server.address() as AddressInfo; // a bound UDP socket has one
  here = `127.0.0.1:${port}`;
  resolve = publicResolver({ servers: () => [here] });
});
afterAll(() => server.close());

/** The question follows the header of twelve bytes: labels with their lengths, an empty label, type and class. */
function labelsOf(query: Buffer): string[] {
  const labels: string[] = [];
  for (let at = 12; (query[at] ?? 0) > 0; at += 1 + (query[at] ?? 0))
    labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] ?? 0)));
  return labels;
}

function typeOf(query: Buffer): number {
  return query.readUInt16BE(endOf(query) - 4);
}

function endOf(query: Buffer): number {
  return 12 + labelsOf(query).reduce((length, label) => length + label.length + 1, 1) + 4;
}

/** Answers with one IPv4 address to an A query, with none to others, or with an error. */
function send(query: Buffer, { port, address }: RemoteInfo, error = 0, socket = server): void {
  const end = endOf(query);
  const has_answer = error === 0 && typeOf(query) === TYPE_A;
  const head = Buffer.from([0, 0, 0x81, 0x80 | error, 0, 1, 0, has_answer ? 1 : 0, 0, 0, 0, 0]);
  query.copy(head, 0, 0, 2);
  const answer = has_answer ? [0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...ADDRESS] : [];
  socket.send(Buffer.concat([head, query.subarray(12, end), Buffer.from(answer)]), port, address);
}

it("sixty names that hang keep neither another receiver's name waiting, nor a lookup of the machine's own [F117]", async () => {
  const stuck = Promise.allSettled(Array.from({ length: 60 }, (_, nth) => resolve(`hang-${nth}.example.com`)));
  expect(await resolve('quick.example.com')).toEqual([{ address: ADDRESS.join('.'), family: 4 }]);
  await lookup('localhost');
  expect(hanging.length).toBeGreaterThan(0);
  let settled = false;
  void stuck.then(() => {
    settled = true;
  });
  // Each name is queried for both families; later queries are answered at once, too.
  while (!settled) {
    for (const { query, from } of hanging.splice(0)) send(query, from, NAME_ERROR);
    await new Promise((turn) => setTimeout(turn, 5));
  }
  expect((await stuck).every(({ status }) => status === 'rejected')).toBe(true);
});

it.each([
  ['missing', 'ENOTFOUND'],
  ['broken', 'EAI_AGAIN'],
])('a name that is %s is told as the system tells it: %s', async (name, code) => {
  await expect(resolve(`${name}.example.com`)).rejects.toMatchObject({ code });
});

it('a name that is never answered for IPv6 is found by its IPv4 address, before it is asked again [F117]', async () => {
  hanging.splice(0);
  expect(await resolve('half.example.com')).toEqual([{ address: ADDRESS.join('.'), family: 4 }]);
  expect(hanging).toHaveLength(1);
  hanging.splice(0);
});

it('a name that no DNS server answers for fails as a DNS fault, within its time [F117]', async () => {
  const impatient = publicResolver({ servers: () => [here], longest_ms: 20 });
  await expect(impatient('hang-here.example.com')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  for (const { query, from } of hanging.splice(0)) send(query, from, NAME_ERROR);
});

it('a machine that has moved to other DNS servers asks those, once the old ones fail [F117]', async () => {
  const closed = createSocket('udp4');
  await new Promise<void>((bound) => closed.bind(0, '127.0.0.1', bound));
  const { port } = closed.address() as AddressInfo; // a bound UDP socket has one
  await new Promise<void>((done) => closed.close(done));
  let servers = [`127.0.0.1:${port}`];
  const moving = publicResolver({ servers: () => servers });
  await expect(moving('quick.example.com')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  servers = [here];
  expect(await moving('quick.example.com')).toEqual([{ address: ADDRESS.join('.'), family: 4 }]);
});

it('and after a moment without any failure, too', async () => {
  const other = createSocket('udp4');
  other.on('message', (query, from) => send(query, from, NAME_ERROR, other));
  await new Promise<void>((bound) => other.bind(0, '127.0.0.1', bound));
  const { port } = other.address() as AddressInfo; // a bound UDP socket has one
  let servers = [`127.0.0.1:${port}`];
  let now = 0;
  const moving = publicResolver({ servers: () => servers, now: () => now });
  servers = [here];
  await expect(moving('quick.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  now = 6_000;
  expect(await moving('quick.example.com')).toEqual([{ address: ADDRESS.join('.'), family: 4 }]);
  await new Promise<void>((done) => other.close(done));
});
