/** Calls that arrive in one event-loop tick start together. */
import { once } from 'node:events';
import { connect } from 'node:net';
import express from 'express';
import { expect, it } from 'vitest';
import { listen } from '../../../src/proxy/http/server.ts';
import { DOOR } from './door.ts';

it('they go side by side from one wait to the next, whatever connection they came by', async () => {
  const seen: string[] = [];
  const door = await listen(
    express().use(async (_request, response) => {
      seen.push('begins');
      await null;
      seen.push('goes on');
      response.end('ok');
    }),
    DOOR,
  );
  const tills = Array.from({ length: 3 }, () => connect(door.port, '127.0.0.1'));
  await Promise.all(tills.map((till) => once(till, 'connect')));
  const askAll = async (): Promise<void> => {
    const answered = tills.map((till) => once(till, 'data'));
    for (const till of tills) till.write('GET / HTTP/1.1\r\nhost: door\r\n\r\n');
    const until = performance.now() + 50;
    while (performance.now() < until); // busy, so that all requests arrive within one tick
    await Promise.all(answered);
  };
  await askAll(); // now the door has read from all connections
  seen.length = 0;
  await askAll();
  for (const till of tills) till.destroy();
  await door.close(1_000);
  expect(seen).toEqual(['begins', 'begins', 'begins', 'goes on', 'goes on', 'goes on']);
});
