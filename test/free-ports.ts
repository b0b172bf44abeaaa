/** Free ports for programs that cannot choose one and report it. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** @returns ports that were free on every address a moment ago. */
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
