/** A process that takes and finishes due events until it is killed, and prints each step. */
import { openStore } from './kit.ts';

const store = await openStore(process.argv[2] ?? '');
for (;;) {
  for (const event of await store.events.dueEvents(Date.now(), 3)) {
    process.stdout.write(`took ${event.sequence}\n`);
    await store.events.saveEvent(event.sequence, { state: 'done' });
    process.stdout.write(`done ${event.sequence}\n`);
  }
}
