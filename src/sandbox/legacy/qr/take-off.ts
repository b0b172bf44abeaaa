/** DELETE of what a till shows, the same for both attended families. Source: `legacy-qr.md` §1.1, §1.2. */
import { errorBody, legacyError } from '../../../contract/legacy-errors.ts';
import type { PointOfSale } from '../../cast.ts';
import type { QrCall, QrReply } from './call.ts';
import { takeAway } from './lifecycle.ts';

/** 204, also on an empty till unless the setting `legacy_qr_delete_empty` says otherwise. @throws PuenteError refused, while it is being paid. */
export function takeOff(call: QrCall, till: PointOfSale): QrReply {
  if (takeAway(call, till, 'canceled')) return { status: 204 };
  const status = call.state.world.settings.legacy_qr_delete_empty;
  const nothing = legacyError(call.family, 'order_not_found');
  if (status === 204 || nothing === null) return { status: 204 };
  return { status, body: errorBody(call.family, { ...nothing, status }, '') };
}
