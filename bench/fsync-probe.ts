/** Says how long one fsync takes in the directory it is given; a process of its own, so that it can be made slow. */
import { measureFsync } from './machine.ts';

process.stdout.write(`one fsync takes ${measureFsync(process.argv[2] ?? '.').toFixed(3)} ms\n`);
