/** Preloaded into a till's process: acts as a hosts-file entry and a port redirect, and leaves TLS unchanged. */
import { Agent, buildConnector, setGlobalDispatcher } from 'undici';
import { VENDOR_HOST } from './vendor-host.ts';

const port = process.env.ATTACH_PORT ?? '';
const connect = buildConnector({});

setGlobalDispatcher(
  new Agent({
    connect(options, callback) {
      if (options.hostname !== VENDOR_HOST) return callback(new Error(`${options.hostname} is not the vendor`), null);
      // The certificate is still checked against the requested name.
      connect({ ...options, hostname: '127.0.0.1', port, servername: VENDOR_HOST }, callback);
    },
  }),
);
