/** Kiosk terminals among those of tills: tills can't change their mode, and readiness lists them (LIM-71). */
import { describe, expect, it } from 'vitest';
import { ARGENTINA, DEVICE, eventually, POINT } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { legacyErrorOf, openShop, type Shop } from './till.ts';

async function findings(shop: Shop): Promise<string[]> {
  const { body } = await shop.ops(`/api/merchants/${ARGENTINA}/readiness`);
  return (body as { remarks: { what: string }[] }).remarks.map(({ what }) => what);
}

it('a terminal in SELF_SERVICE is a finding of readiness once a till wanted to switch it, and was refused', async () => {
  const shop = await openShop();
  try {
    const seat = { method: 'PUT', body: { operating_mode: 'SELF_SERVICE' } };
    await shop.control(`/terminals/${ARGENTINA}/${DEVICE}`, seat);
    const body = { operating_mode: 'PDV' };
    expect((await shop.till(`${POINT}/devices/${DEVICE}`, { method: 'PATCH', body })).status).toBe(409);
    const found = await eventually(
      () => findings(shop),
      (remarks) => remarks.some((what) => what.includes('SELF_SERVICE')),
    );
    expect(found.filter((what) => what.includes('LIM-71'))).toHaveLength(1);
  } finally {
    await shop.close();
  }
});

describe('what upstream can not do yet', () => {
  const shop = openForAll(() => openShop());

  it.each([
    ['a list', 'GET', '/terminals/v1/list', ''],
    ['a mode', 'PATCH', '/terminals/v1/setup', `/${DEVICE}`],
  ])('%s: done as soon as it can, or told as worth another try', async (_name, method, path, of) => {
    const body = method === 'PATCH' ? { operating_mode: 'PDV' } : undefined;
    const ask = () => shop.till(`${POINT}/devices${of}`, { method, body });
    const pending = { method, path, kind: 'error', status: 409, code: 'movement_operations_pending', message: 'Wait.' };
    await shop.fault({ ...pending, times: 1 });
    expect((await ask()).status).toBe(200);
    await shop.fault({ ...pending, times: 'always' });
    const told = await ask();
    expect([told.status, told.headers['retry-after']]).toEqual([503, '1']);
    await shop.clearFaults();
    expect((await ask()).status).toBe(200);
  });
});

describe.each(['orders', 'shadow'])('a terminal in SELF_SERVICE, for a merchant on %s', (stage) => {
  const shop = openForAll(async () => {
    const opened = await openShop({ PUENTE_ROUTING_DEFAULT_STAGE: stage });
    const body = { operating_mode: 'SELF_SERVICE' };
    await opened.control(`/terminals/${ARGENTINA}/${DEVICE}`, { method: 'PUT', body });
    return opened;
  });

  it('is a finding of readiness once a till has listed it', async () => {
    const listed = await shop.till(`${POINT}/devices`);
    expect(listed.status).toBe(200);
    const found = await eventually(
      () => findings(shop),
      (remarks) => remarks.some((what) => what.includes('SELF_SERVICE')),
    );
    expect(found.filter((what) => what.includes('LIM-71'))).toHaveLength(1);
  });

  it.runIf(stage === 'orders')('keeps its mode when a till asks for another one', async () => {
    for (const operating_mode of ['PDV', 'STANDALONE']) {
      const answer = await shop.till(`${POINT}/devices/${DEVICE}`, { method: 'PATCH', body: { operating_mode } });
      expect(legacyErrorOf(answer)).toMatchObject({ status: 409, error: '409' });
    }
    expect(await shop.requests('/terminals/v1/setup')).toEqual([]);
    const { body } = await shop.till(`${POINT}/devices`);
    const { devices } = body as { devices: { id: string; operating_mode: string }[] };
    expect(devices.find(({ id }) => id === DEVICE)?.operating_mode).toBe('SELF_SERVICE');
  });
});
