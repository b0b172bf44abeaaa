/** Options of a door in tests. */
import type { ListenOptions } from '../../../src/proxy/http/server.ts';

export const DOOR: ListenOptions = {
  name: 'door',
  port: 0,
  host: '127.0.0.1',
  headers_timeout_ms: 10_000,
  request_timeout_ms: 10_000,
  keep_alive_timeout_ms: 60_000,
  write_timeout_ms: 10_000,
  header_limit_bytes: 8_192,
  max_connections: 10,
  max_requests_per_connection: 100,
  refuse: () => undefined,
  dropped: () => undefined,
};
