/** The part of the control door that changes what a merchant may do: its token, and the agreements behind it. */
import type { Router } from 'express';
import { z } from 'zod';
import { json, send } from './answer.ts';
import { readBody } from './body.ts';
import type { Merchant } from './cast.ts';
import { merchantOf, parse } from './control-call.ts';
import type { World } from './world.ts';

export function addMerchants(router: Router, world: World): void {
  router.put('/_sandbox/merchants/:merchant', readBody, (request, response) => {
    const merchant = Object.assign(merchantOf(world, request), parse(merchantSchema, request));
    const { user_id, has_marketplace, may_hand_out_cash } = merchant;
    send(response, json(200, { user_id, has_marketplace, may_hand_out_cash }));
  });
  router.put('/_sandbox/merchants/:merchant/token', readBody, (request, response) => {
    changeToken(world, merchantOf(world, request), parse(tokenSchema, request));
    send(response, { status: 204, body: '' });
  });
}

const merchantSchema = z.strictObject({
  has_marketplace: z.boolean().exactOptional(),
  may_hand_out_cash: z.boolean().exactOptional(),
});

const tokenSchema = z
  .strictObject({
    access_token: z
      .string()
      .regex(/^(?:APP_USR|TEST)-[\w-]+$/)
      .optional(),
    /** Whether the token was obtained through OAuth. */
    oauth: z.boolean().optional(),
  })
  .refine((wanted) => Object.keys(wanted).length > 0, { message: 'Say access_token or oauth.' });

/** A replaced token is unknown from now on, as an expired one is. */
function changeToken(world: World, merchant: Merchant, wanted: z.infer<typeof tokenSchema>): void {
  const old = merchant.access_token;
  const { access_token = old, oauth = world.oauth_tokens.has(old) } = wanted;
  world.tokens.delete(old);
  world.oauth_tokens.delete(old);
  merchant.access_token = access_token;
  world.tokens.set(access_token, merchant);
  if (oauth) world.oauth_tokens.add(access_token);
}
