/** Records every TCP connection that this process begins, below TLS and Node's choice of addresses. */
import { createServer } from 'node:net';
import { listen, shut } from '../listen.ts';

export interface Begun {
  address: string;
  port: number;
}

type Connect = (this: object, request: object, address: string, port: number) => number;
interface TcpHandle {
  connect: Connect;
  connect6: Connect;
}

/** The error of an unreachable network (ENETUNREACH): nothing leaves this machine. */
const NETWORK_UNREACHABLE = -101;

export interface SocketWatch {
  take(): Begun[];
  /** Sends later attempts, whatever their address, to this port of 127.0.0.1; null makes them fail. */
  divert(port: number | null): void;
  stop(): void;
}

/** Replaces the two native calls by which Node's sockets connect; the code under test stays unchanged. */
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

/** The prototype of all TCP handles of this process, found through a listening server. */
async function tcpHandle(): Promise<TcpHandle> {
  const server = createServer();
  await listen(server);
  const { _handle } = server as unknown as { _handle: object }; // an internal field, missing in Node's types
  const prototype = Object.getPrototypeOf(_handle) as TcpHandle; // the native class has both calls
  await shut(server);
  return prototype;
}
