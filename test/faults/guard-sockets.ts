/** Sees every TCP connection that this process begins, below TLS and below Node's own choice of addresses. */
import { createServer } from 'node:net';

export interface Begun {
  address: string;
  port: number;
}

type Connect = (this: object, request: object, address: string, port: number) => number;
interface TcpHandle {
  connect: Connect;
  connect6: Connect;
}

/** What the kernel says of a network that can't be reached: nothing leaves this machine. */
const NETWORK_UNREACHABLE = -101;

export interface SocketWatch {
  /** Attempts since the start or the last `take`, oldest first. */
  take(): Begun[];
  /** From now on attempts to any address are led to this port of 127.0.0.1; null: they fail. */
  divert(port: number | null): void;
  stop(): void;
}

/** Stands in front of the two calls by which Node's sockets connect; both belong to Node, not to what is tested. */
export async function watchSockets(): Promise<SocketWatch> {
  const handle = await tcpHandle();
  const { connect, connect6 } = handle;
  let begun: Begun[] = [];
  let diverted: number | null = null;
  const instead: Connect = function (request, address, port) {
    begun.push({ address, port });
    return diverted === null ? NETWORK_UNREACHABLE : connect.call(this, request, '127.0.0.1', diverted);
  };
  handle.connect = instead;
  handle.connect6 = instead;
  return {
    take() {
      const seen = begun;
      begun = [];
      return seen;
    },
    divert(port) {
      diverted = port;
    },
    stop() {
      handle.connect = connect;
      handle.connect6 = connect6;
    },
  };
}

/** The prototype that all of this process's TCP handles share; a listening server's handle leads to it. */
async function tcpHandle(): Promise<TcpHandle> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { _handle } = server as unknown as { _handle: object }; // Node keeps it there, and its types don't say so
  const prototype = Object.getPrototypeOf(_handle) as TcpHandle; // the native class has both calls
  await new Promise((resolve) => server.close(resolve));
  return prototype;
}
