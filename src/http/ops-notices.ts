/** The delivery log on the ops door: list, show, and replay. */
import { Router } from 'express';
import {
  noticeQuery,
  replayMany,
  replayNotice,
  replayOne,
  replayWindow,
  viewNotice,
  viewNotices,
} from '../core/notices/log.ts';
import type { Runtime } from '../core/runtime.ts';
import { parsed } from './ops-body.ts';

/** @param who stands in the audit lines. */
export function noticeRouter(runtime: Runtime, who: string): Router {
  const router = Router();
  router.get('/', async (request, response) => {
    response.json({ notices: await viewNotices(runtime, parsed(noticeQuery, request.query)) });
  });
  router.post('/replay', async (request, response) => {
    response.json(await replayWindow(runtime, parsed(replayMany, request.body), who));
  });
  router.get('/:id', async (request, response) => {
    response.json(await viewNotice(runtime, request.params.id));
  });
  router.post('/:id/replay', async (request, response) => {
    const { reason } = parsed(replayOne, request.body);
    response.json(await replayNotice(runtime, request.params.id, reason, who));
  });
  return router;
}
