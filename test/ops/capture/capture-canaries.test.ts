/** A captured call leaves no token, card, secret or personal data in the database, on either lane. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { usualKeeping } from '../../engines/keeping.ts';
import { ARGENTINA, call, eventually, POINT, startBench, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { CARD, EMAIL, SECRET, tracesOf } from './canaries.ts';

const TILL = 'SUC001POS001';

for (const stage of ['shadow', 'orders'] as const) {
  describe(`on ${stage}`, () => {
    const bench = openForAll(() =>
      startBench({
        PUENTE_ROUTING_DEFAULT_STAGE: stage,
        PUENTE_MERCHANTS_CAPTURE: 'true',
        PUENTE_SANDBOX_SETTINGS: JSON.stringify({ extra_terminals: 9 }),
      }),
    );
    beforeAll(async () => {
      let terminal = 0;
      for (const canary of [CARD, EMAIL]) {
        for (const hidden of [canary, Buffer.from(canary).toString('base64'), Buffer.from(canary).toString('hex')]) {
          terminal++;
          await bench.till(
            `${POINT}/devices/NEWLAND_N950__LOAD000000${terminal}/payment-intents?note=${encodeURIComponent(hidden)}`,
            {
              body: intent(hidden, stage),
              headers: { 'x-note': hidden, 'x-signature': SECRET, cookie: `a=${SECRET}`, 'x-idempotency-key': hidden },
            },
          );
        }
        await bench.till(`/instore/qr/seller/collectors/${ARGENTINA}/pos/${TILL}/orders`, {
          method: 'PUT',
          body: sale(canary, stage),
        });
        await bench.till(
          `/v1/payments/search?payer.email=${encodeURIComponent(canary)}&access_token=${tokenOf(ARGENTINA)}`,
          {
            token: null,
          },
        );
      }
    });
    let text = '';
    const captured = async (): Promise<{ messages: unknown; lane: string }[]> => {
      ({ text } = await call(`${bench.app.ops_url}/api/exchanges?captured=true`, {
        token: 'ops-token-of-the-tests',
      }));
      const lines = text.trim().split('\n').slice(1, -1);
      return lines.map((line) => JSON.parse(line));
    };
    test('the capture has the calls [F133]', async () => {
      // A call is recorded after its answer is sent.
      const exchanges = await eventually(captured, ({ length }) => length >= 10);
      expect(exchanges).toHaveLength(10);
      expect(
        exchanges.every(({ messages, lane }) => messages !== null && (lane === 'orders') === (stage === 'orders')),
      ).toBe(true);
      for (const trace of traces()) expect(text.toLowerCase()).not.toContain(trace);
    });

    test('the files of the database have none of it [F133 F134]', async () => {
      await bench.ops('/api/exchanges'); // everything is written after this call
      const files = readdirSync(bench.data_dir).filter((name) => name.startsWith('puente.db'));
      expect(files).toContain('puente.db');
      const kept = files.map((name) => readFileSync(join(bench.data_dir, name), 'latin1').toLowerCase()).join('\n');
      for (const trace of traces()) expect(kept).not.toContain(trace);
    });

    test('what is captured is masked, not sealed, the orders among it (SECURITY.md)', async () => {
      const reference = `Mesa-doce-${stage}`;
      const long = `Mesa doce ${stage} `.repeat(100);
      await bench.till(`${POINT}/devices/NEWLAND_N950__LOAD0000009/payment-intents`, {
        body: { amount: 1500, additional_info: { external_reference: reference } },
      });
      await bench.till(`/instore/qr/seller/collectors/${ARGENTINA}/pos/${TILL}/orders`, {
        method: 'PUT',
        body: { ...sale('nothing', stage), external_reference: 'Mesa 12', description: long },
      });
      const { read } = usualKeeping();
      const kept = await eventually(
        () => read<{ messages: string }>(bench.data_dir, 'SELECT messages FROM exchanges ORDER BY sequence'),
        (rows) => rows.length === 12,
      );
      const [point, qr] = kept.slice(-2).map(({ messages }) => JSON.parse(messages));
      expect(point.request.body.additional_info.external_reference).toBe(reference);
      expect(qr.request.body.description).toBe(long);
      if (stage === 'shadow') return;
      expect(JSON.stringify(point.upstream)).toContain(reference);
      const links = await read<Record<string, unknown>>(bench.data_dir, 'SELECT * FROM links');
      expect(JSON.stringify(links), 'where the sale itself is kept').not.toContain(long);
    });
  });
}

/** Traces of values that till calls hold in clear; on orders the sale itself is stored sealed. */
function traces(): string[] {
  return [CARD, EMAIL, SECRET, tokenOf(ARGENTINA)].flatMap(tracesOf);
}

/**
 * Both lanes store a reference as sent, because tills search by it. On orders Puente also stores the order and the
 * fields that it must return byte for byte. Neither depends on capture.
 */
function intent(canary: string, stage: 'shadow' | 'orders'): object {
  const free = { description: `for ${canary}`, additional_info: { print_on_terminal: true, [canary]: canary } };
  return {
    amount: 1500,
    ...(stage === 'shadow' ? free : {}),
    note: canary,
    [canary]: canary,
    notification_url: `https://u:${SECRET}@shop.example.test/hook/${SECRET}?key=${SECRET}`,
    client_secret: SECRET,
    inside: JSON.stringify({ password: SECRET, note: canary }),
  };
}

function sale(canary: string, stage: 'shadow' | 'orders'): object {
  const free = stage === 'shadow' ? { title: `for ${canary}` } : { title: 'Shop' };
  const item = stage === 'shadow' ? { title: canary, sku_number: canary } : { title: 'Coffee', description: canary };
  return {
    external_reference: 'Mesa 4',
    ...free,
    description: canary,
    waiter: canary,
    notification_url: `https://shop.example.test/${SECRET}?key=${SECRET}`,
    total_amount: 1600,
    items: [{ ...item, unit_price: 1600, quantity: 1, unit_measure: 'unit', total_amount: 1600 }],
  };
}
