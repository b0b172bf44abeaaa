/** The check thread: reads a whole database file for faults, while its store continues. */
import { parentPort, workerData } from 'node:worker_threads';
import { checkFile } from './examine.ts';

const { path } = workerData as { path: string }; // as `checkInThread` sends it
parentPort?.postMessage(checkFile(path));
parentPort?.close();
