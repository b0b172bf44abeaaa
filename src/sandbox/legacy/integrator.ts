/** The integrator record: which channels hear of device restarts and mode changes. Source: `legacy-point.md` §1.8. */
import { z } from 'zod';
import { pointErrors } from '../../contract/legacy-point.ts';
import { isoDate } from '../dates.ts';
import { type Handler, jsonObject, refusal } from './call.ts';
import { integratorOf } from './state.ts';

/** `GET /point/integration-api/integrator`. */
export const getIntegrator: Handler = ({ world, state, merchant }) => {
  const { created_at_ms, updated_at_ms, event_channel_devices } = integratorOf(state, merchant, world.clock.now());
  return {
    status: 200,
    body: {
      id: Number(merchant.user_id),
      created_at: isoDate(created_at_ms, 0),
      updated_at: isoDate(updated_at_ms, 0),
      notification_url_enabled: (state.notice_targets.get(merchant.user_id)?.url ?? null) !== null,
      event_channel_devices,
    },
  };
};

const channels = z.array(z.string());

/** `PATCH /point/integration-api/integrator` `{"event_channel_devices": ["email"]}`: 204. */
export const changeIntegrator: Handler = ({ world, state, merchant, body }) => {
  const wanted = jsonObject(body).event_channel_devices;
  if (wanted === undefined) throw refusal(pointErrors.missing_property, 'event_channel_devices');
  const parsed = channels.safeParse(wanted);
  if (!parsed.success) throw refusal(pointErrors.invalid_property, 'event_channel_devices');
  const now_ms = world.clock.now();
  const integrator = integratorOf(state, merchant, now_ms);
  integrator.event_channel_devices = parsed.data;
  integrator.updated_at_ms = now_ms;
  return { status: 204 };
};
