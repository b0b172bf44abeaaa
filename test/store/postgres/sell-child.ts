/** A process that takes due events one after the other and finishes each, until it is killed; it says what it took and what it finished. */
import { openStore } from './kit.ts';

const store = await openStore(process.argv[2] ?? '');
for (;;) {
  for (const event of await store.events.dueEvents(Date.now(), 3)) {
    process.stdout.write(`took ${event.sequence}\n`);
    await store.events.saveEvent(event.sequence, { state: 'done' });
    process.stdout.write(`done ${event.sequence}\n`);
  }
}
