/** `GET /users/me`: whose token it is. Source: `legacy-qr.md` §4; fields of the official SDK's type. */
import type { Router } from 'express';
import { json } from '../answer.ts';
import { offsetDate } from '../dates.ts';
import { olderRouter } from '../older-call.ts';
import type { World } from '../world.ts';

/** Invented: the cast has been there for a while. */
const REGISTERED_AT_MS = Date.UTC(2024, 0, 15, 12);

export function usersRouter(world: World): Router {
  return olderRouter(world, [
    [
      'get',
      '/users/me',
      ({ merchant }) =>
        json(200, {
          id: Number(merchant.user_id),
          nickname: merchant.nickname,
          registration_date: offsetDate(REGISTERED_AT_MS),
          email: `seller-${merchant.user_id}@example.com`,
          site_id: merchant.site.site_id,
          country_id: merchant.site.country_alpha2,
          user_type: 'normal',
          tags: ['normal', 'test_user'],
          status: { site_status: 'active' },
        }),
    ],
  ]);
}
