/** Commit units arrive at the writer as they were sent. */
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { expect, it } from 'vitest';
import type { Unit } from '../../../src/store/engine.ts';
import { unpack } from '../../../src/store/sqlite/commit.ts';
import { pack } from '../../../src/store/sqlite/group-commit.ts';

const UNITS: Unit[] = [
  { steps: [] },
  {
    steps: [
      { write: 'remember', values: ['name', 'value'] },
      { write: 'delete_hours', values: [3], changes: 0 },
      { write: 'probe_clear', values: [] },
      {
        write: 'accept_token',
        values: ['a', null, new Uint8Array([1, 2, 0, 255]), -1.5, 9_007_199_254_740_991],
        changes: 2,
      },
    ],
    audit: {
      at: 1,
      who: 'somebody',
      action: 'stage',
      subject: '700',
      reason: 'because',
      detail: { from: ['a', null] },
    },
    newest_seen: 0,
  },
  {
    steps: [],
    audit: ['a', 'b'].map((who) => ({ at: 1, who, action: 'stage', subject: '7', reason: '', detail: {} })),
  },
  { steps: [{ write: 'probe_fill', values: [] }], checkpoint: true },
];

it('units come as they were sent, each with what it asks for', () => {
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(pack(UNITS));
  expect(unpack(receiveMessageOnPort(port2)?.message)).toStrictEqual(UNITS);
  port1.close();
});

it('locks stay behind', () => {
  expect(unpack(pack([{ steps: [], locks: { alone: ['a'], shared: ['b'] } }]))).toStrictEqual([{ steps: [] }]);
});
