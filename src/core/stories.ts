/** Which story runs which operation: the names that `mappings/operations.yaml` may use. */
import type { Story } from './call.ts';
import { cancelIntent, cancelWithoutDevice } from './cancel.ts';
import { createIntent } from './create.ts';
import { changeMode, listDevices } from './devices.ts';
import { getIntent, lastStatus, listEvents } from './read.ts';
import { refundIntent } from './refund-intent.ts';

export const stories: Readonly<Record<string, Story>> = {
  list_devices: listDevices,
  change_mode: changeMode,
  create_intent: createIntent,
  get_intent: getIntent,
  cancel_intent: cancelIntent,
  cancel_without_device: cancelWithoutDevice,
  list_events: listEvents,
  last_status: lastStatus,
  refund_intent: refundIntent,
};
