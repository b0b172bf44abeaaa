/** Servers of tests on free ports of this machine. */
import { type AddressInfo, createServer, type Server } from 'node:net';

/** @returns the port, once the server listens. */
export async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port; // a listening TCP server has one
}

/** Of an HTTP server the open connections end, too. */
export async function shut(server: Server & { closeAllConnections?: () => void }): Promise<void> {
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections?.();
  });
}

/** @returns ports that were free on every address a moment ago, for programs that can't choose one and report it. */
export async function freePorts(count: number): Promise<string[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(servers.map((server) => listen(server, '0.0.0.0')));
  await Promise.all(servers.map((server) => shut(server)));
  return ports.map(String);
}
