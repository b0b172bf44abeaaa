/** A port that can't be opened: the message contains the remedy. */
import { expect, it } from 'vitest';
import { refusedPort } from '../../../src/proxy/http/server.ts';

const failure = (code: string) => Object.assign(new Error(code), { code });

it.each([
  ['EADDRINUSE', 'is in use; choose another port, or 0 for a free one'],
  ['EADDRNOTAVAIL', "can't be taken (EADDRNOTAVAIL); choose another port, or 0 for a free one"],
  ['EACCES', 'is kept from this user by the machine; allow it with `sysctl net.ipv4.ip_unprivileged_port_start=443`'],
])('%s', (code, sentence) => {
  expect(refusedPort(443, failure(code))).toContain(sentence);
});
