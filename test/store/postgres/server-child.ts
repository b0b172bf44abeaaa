/** A server in a process of its own, which lives until its parent lets go of it. */
import { startServer } from './server.ts';

const server = await startServer();
process.send?.({ url: server.own, pid: server.pid() });
process.once('disconnect', () => void server.remove());
