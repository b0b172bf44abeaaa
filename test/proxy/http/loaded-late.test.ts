/** A lazily imported handler: imported once, by the first request or before, and again after a failure. */
import express from 'express';
import request from 'supertest';
import { expect, it } from 'vitest';
import { loadedLate } from '../../../src/proxy/http/loaded-late.ts';

it('is loaded once, by the first request, and anew after a failure', async () => {
  let loadings = 0;
  const app = express();
  const { handler } = loadedLate(async () => {
    loadings++;
    if (loadings === 1) throw new Error('not there yet');
    return (_request, response) => void response.send('there');
  });
  app.use(handler);
  app.use(((_error, _request, response, _next) => void response.status(500).end()) as express.ErrorRequestHandler);
  expect(loadings).toBe(0);
  expect((await request(app).get('/')).status).toBe(500);
  const answers = await Promise.all([1, 2, 3].map(() => request(app).get('/')));
  expect(answers.map(({ text }) => text)).toEqual(['there', 'there', 'there']);
  expect(loadings).toBe(2);
});

it("can be loaded before it is asked for; a failure then is nobody's", async () => {
  let loadings = 0;
  const { handler, load } = loadedLate(async () => {
    loadings++;
    if (loadings === 1) throw new Error('not there yet');
    return (_request, response) => void response.send('there');
  });
  await load();
  await load();
  expect(loadings).toBe(2);
  const app = express();
  app.use(handler);
  expect((await request(app).get('/')).text).toBe('there');
  expect(loadings).toBe(2);
});
