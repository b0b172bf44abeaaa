/** The stories of a new QR sale: attended v1 and v2, dynamic and hybrid; a till's earlier order makes room first. */
import type { QrMode } from '../../contract/orders.ts';
import type { MappingContext } from '../../mapping/tables.ts';
import { answered, type LegacyAnswer, refused } from '../answer.ts';
import { type LegacyCall, merchantContext } from '../call.ts';
import type { Link } from '../link.ts';
import { openSale } from '../open.ts';
import type { Runtime } from '../runtime.ts';
import { clearTill } from './clear.ts';
import { keepBody, keptBody, referenceOf } from './held.ts';
import { tillOf } from './till.ts';

/** v1 `POST` and `PUT /mpmobile/instore/qr/…`: 200 with the object of a preference (`legacy-qr.md` §1.1). */
export function createPreference(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  return createQr(runtime, call, 'static', (link) => answered(200, answerBody(runtime, call, link)));
}

/** v2 `PUT …/orders`: exactly 204 without a body (`legacy-qr.md` §0 row 2). */
export function createStoreOrder(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  return createQr(runtime, call, 'static', () => answered(204, undefined));
}

/** `POST …/qrs` is dynamic, `PUT …/qrs` hybrid: 201 with the text to render (`legacy-qr.md` §1.3). */
export function createQrCode(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const mode = call.operation.method === 'POST' ? 'dynamic' : 'hybrid';
  return createQr(runtime, call, mode, (link) => {
    const hasCode = (link.order?.type_response?.qr_data ?? '') !== '';
    // Without its code nobody could ever pay it; a hybrid sale shows on the till's own code as well.
    if (mode === 'dynamic' && !hasCode) return refused(call.operation.family, 'outcome_unknown');
    return answered(201, answerBody(runtime, call, link));
  });
}

async function createQr(
  runtime: Runtime,
  call: LegacyCall,
  mode: QrMode,
  created: (link: Link) => LegacyAnswer,
): Promise<LegacyAnswer> {
  const till = await tillOf(runtime, call);
  if (till.kind === 'refused') return till.answer;
  const { body, notice_url } = keepBody(call.body);
  const holds_unit = mode !== 'dynamic';
  return openSale(runtime, call, {
    family: 'qr',
    unit: till.external_pos_id,
    holds_unit,
    client_reference: referenceOf(body),
    held: { body },
    notice_url,
    context: saleAsk(runtime, call, till.external_pos_id, mode),
    busy_error: 'order_in_doubt',
    makeRoom: (holder, deadline) => clearTill(runtime, call, holder, deadline),
    created,
  });
}

/** What the request tables of QR sales may want to know. */
function saleAsk(runtime: Runtime, call: LegacyCall, external_pos_id: string, mode: QrMode): MappingContext {
  const { currency } = runtime.tables.site(call.merchant.site);
  return { external_pos_id, mode, received_at: call.received_at, currency };
}

function answerBody(runtime: Runtime, call: LegacyCall, link: Link): unknown {
  const { value } = runtime.tables.answer(call.operation, link.order ?? {}, saleContext(runtime, call, link));
  return value.body;
}

/** What the answer tables of QR sales may want to know. */
export function saleContext(runtime: Runtime, call: LegacyCall, link: Link): Record<string, unknown> {
  return {
    ...merchantContext(runtime, call.merchant),
    intent_id: link.legacy_id,
    merchant_id: Number(link.merchant_id),
    preference_id: `${link.merchant_id}-${link.legacy_id}`,
    currency: runtime.tables.site(call.merchant.site).currency,
    client_reference: link.client_reference,
    amount_minor: link.amount_minor,
    request: keptBody(runtime, link),
  };
}
