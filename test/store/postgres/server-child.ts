/** A server in its own process, which ends when its parent disconnects. */
import { startServer } from './server.ts';

const server = await startServer();
process.send?.({ url: server.own, pid: server.pid() });
process.once('disconnect', () => void server.remove());
