/** A server of a test on a free port of this machine. */
import type { AddressInfo, Server } from 'node:net';

/** @returns the port, once the server listens. */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port; // a listening TCP server has one
}

/** Of an HTTP server the open connections end, too. */
export async function shut(server: Server & { closeAllConnections?: () => void }): Promise<void> {
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections?.();
  });
}
