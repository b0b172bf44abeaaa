/** The thread behind `writer-threads.ts`: each message is the setup of one store, and the port to serve it by. */
import { type MessagePort, parentPort } from 'node:worker_threads';
import type { WriterSetup } from '../../src/store/sqlite/group-commit.ts';
import { startWriter } from '../../src/store/sqlite/writer.ts';

parentPort?.on('message', ({ port, setup }: { port: MessagePort; setup: WriterSetup }) => startWriter(port, setup));
