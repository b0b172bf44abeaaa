/** The least that two durable commits around a create can be: a row of three columns, written and changed. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Group, Row } from './bare-rows-writer.ts';
import type { Rows } from './translation.ts';

export async function openBareRows(database: string): Promise<Rows> {
  const writer = new Worker(new URL('./bare-rows-writer.ts', import.meta.url), { workerData: database });
  await once(writer, 'online');
  /** One group is with the writer, and what comes meanwhile gathers for the next; no group waits to become larger. */
  let waiting: { rows: Row[]; resolved: (() => void)[] } = { rows: [], resolved: [] };
  let committing: (() => void)[] | null = null;
  let is_scheduled = false;

  const post = (): void => {
    const { rows, resolved } = waiting;
    waiting = { rows: [], resolved: [] };
    committing = resolved;
    writer.postMessage(rows satisfies Group);
  };
  writer.on('message', () => {
    const committed = committing ?? [];
    committing = null;
    if (waiting.rows.length > 0) post();
    for (const resolve of committed) resolve();
  });
  const durable = (row: Row): Promise<void> =>
    new Promise((resolve) => {
      waiting.rows.push(row);
      waiting.resolved.push(resolve);
      if (is_scheduled || committing !== null) return;
      is_scheduled = true;
      setImmediate(() => {
        is_scheduled = false;
        post();
      });
    });
  return {
    open: ({ id, body }) => durable({ id, body, order_id: null }),
    settle: (id, { id: order_id }) => durable({ id, body: null, order_id }),
  };
}
