/** The settings of both profiles; their answers are in `conformance/profiles.yaml`. */
import { beforeEach, describe, expect, test } from 'vitest';
import { type Profile, profileSettings } from '../../src/sandbox/assumptions.ts';
import { closing, openForAll } from '../open.ts';
import { openQrKit, type QrKit } from './qr-kit.ts';

const kits = {
  specification: openForAll(() => openQrKit({}, 'specification')),
  field: openForAll(() => openQrKit({}, 'field')),
};
beforeEach(async () => {
  for (const kit of Object.values(kits)) await kit.control('POST', 'reset');
});

async function both<T>(run: (kit: QrKit) => Promise<T>): Promise<Record<Profile, T>> {
  return { specification: await run(kits.specification), field: await run(kits.field) };
}

describe('settings', () => {
  test('the profile is named with what it decides; a single setting changes by itself, until a reset', async () => {
    const told = await both(async (kit) => {
      const { body } = await kit.control('GET', 'settings');
      expect(body.settings).toMatchObject(profileSettings[body.profile as Profile]);
      await kit.control('PUT', 'settings', { point_expiry: 'expired', amounts: 'as_seen' });
      const { settings } = (await kit.control('GET', 'settings')).body;
      await kit.control('POST', 'reset');
      const after = (await kit.control('GET', 'settings')).body;
      expect(after).toEqual(body);
      return [body.profile, settings.point_expiry, settings.amounts, settings.cancel_confirmation];
    });
    expect(told).toEqual({
      specification: ['specification', 'expired', 'as_seen', 'at_once'],
      field: ['field', 'expired', 'as_seen', 'automatic'],
    });
  });

  test('a setting given at the start is stronger than the profile', async () => {
    await using kit = closing(await openQrKit({ point_expiry: 'canceled' }, 'field'));
    const { point_expiry, error_codes } = (await kit.control('GET', 'settings')).body.settings;
    expect([point_expiry, error_codes]).toEqual(['canceled', 'live']);
  });

  test('what the field does differently differs', async () => {
    const { specification } = await both(async (kit) => kit.sandbox.world.settings);
    for (const [name, value] of Object.entries(profileSettings.field))
      expect([name, specification[name as keyof typeof specification]]).not.toEqual([name, value]);
  });
});
