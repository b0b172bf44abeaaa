/** One refund on legacy, asked for with two tokens of its merchant: what is said of one of them is not said of the refund. */
import { afterEach, expect, it } from 'vitest';
import { type Answer, ARGENTINA, eventually, tokenOf } from '../../kit.ts';
import { answerJson, answerWho, type Outside, startOutside, startUnruly, type Unruly } from './unruly.ts';

const PATH = '/v1/payments/131313131313/refunds';
const VALID = tokenOf(ARGENTINA);
/** Of the same merchant, and refused by the orders API. */
const EXPIRED = VALID.replace('0a01', '0a02');

let upstream: Unruly;
let puente: Outside;
afterEach(async () => {
  await puente?.close();
  await upstream?.close();
});

const refund = (token: string, key: string): Promise<Answer> =>
  puente.till(PATH, { token, body: { amount: 10 }, headers: { 'x-idempotency-key': key } });
/** The outcomes of the refunds that a report counts; those of tokens that are not proven are not among them. */
async function outcomes(): Promise<string[]> {
  const { text } = await puente.ops(`/api/report?format=csv&part=sales&merchant=${ARGENTINA}&what=refund`);
  const [head = '', ...lines] = text.trim().replaceAll('"', '').split('\r\n');
  const column = head.split(',').indexOf('outcome');
  return lines.map((line) => line.split(',')[column] ?? '').toSorted();
}

it.each(['before', 'after'] as const)(
  'that legacy did not answer stays in doubt when one of its tokens is refused %s it was repeated with a valid one',
  async (when) => {
    const judged = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    upstream = await startUnruly(({ method, path, headers }, response) => {
      const of_valid = headers.authorization === `Bearer ${VALID}`;
      if (path === '/users/me') {
        if (of_valid) return answerWho(response);
        asked.resolve();
        return void judged.promise.then(() => answerJson(response, 401, { error: 'unauthorized' }));
      }
      if (method === 'GET') return answerJson(response, 200, { id: 131313131313, status: 'approved' });
      if (headers['x-idempotency-key'] !== 'other') return void response.socket?.destroy();
      answerJson(response, 201, { id: 77, amount: 10, status: 'approved' });
    });
    puente = await startOutside(upstream.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
    // Legacy accepts it, and so it is known to be the merchant's.
    expect((await puente.till('/v1/payments/131313131313')).status).toBe(200);
    expect((await refund(EXPIRED, 'till-1')).status).toBe(504);
    await asked.promise;
    /** What follows at this payment with the expired token is looked at once that token was judged. */
    const judge = async (seen: string[]): Promise<void> => {
      judged.resolve();
      expect((await refund(EXPIRED, 'other')).status).toBe(201);
      await eventually(outcomes, (found) => found.length === seen.length);
      expect(await outcomes()).toEqual(seen);
    };
    if (when === 'before') await judge(['refunded']);
    expect((await refund(VALID, 'till-1')).status).toBe(504);
    await eventually(outcomes, (found) => found.includes('in_doubt'));
    if (when === 'after') await judge(['in_doubt', 'refunded']);
    expect(await outcomes()).toContain('in_doubt');
  },
);
