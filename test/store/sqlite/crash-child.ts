/** A process to be killed: opens and settles links endlessly, and prints each after its commit. */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { newLink, newNotice } from '../contract/harness.ts';
import { openStore } from './kit.ts';

const LANES = 8;
const [path = ''] = process.argv.slice(2);
const store = await openStore(path);

async function sellForEver(unit: string): Promise<void> {
  for (;;) {
    const { link } = await store.links.openLink(newLink({ unit }), () => ({ kind: 'open' }));
    writeSync(1, `${link.legacy_id} 1\n`);
    const order_id = `ORD${randomUUID()}`;
    const notices = [newNotice(link, order_id)];
    await store.links.saveLink(link, { state: 'DONE', order_id, sealed_body: null }, { notices });
    writeSync(1, `${link.legacy_id} 2\n`);
  }
}

const boot = randomUUID();
await Promise.all(Array.from({ length: LANES }, (_, lane) => sellForEver(`${boot}-${lane}`)));
