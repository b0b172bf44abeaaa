/** `GET /users/me`: who a token belongs to, and on which site. */
import { z } from 'zod';
import { digits } from './identifiers.ts';

export const userMe = z.object({ id: digits, site_id: z.string().optional() });
