/** A process that opens the store on a database, prints its schema, and closes it. */
import { openStore } from './kit.ts';

const store = await openStore(process.argv[2] ?? '');
const { schema, instance_id } = await store.upkeep.condition();
process.stdout.write(`${schema} ${instance_id}\n`);
await store.close();
