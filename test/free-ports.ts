/** Ports for programs that can't take one by themselves and say which. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** @returns so many ports, each free on every address of this machine a moment ago. */
export async function freePorts(count: number): Promise<string[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '0.0.0.0'));
  await Promise.all(servers.map((one) => once(one, 'listening')));
  const ports = servers.map((one) => {
    const address = one.address();
    if (address === null || typeof address === 'string') throw new Error('a listening server has a port');
    return String(address.port);
  });
  await Promise.all(servers.map((one) => new Promise((resolve) => one.close(resolve))));
  return ports;
}
