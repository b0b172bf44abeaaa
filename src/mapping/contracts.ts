/** The contract schemas a table may name in `from` and `to`. */
import { z } from 'zod';
import { legacyHeaders } from '../contract/legacy-headers.ts';
import {
  cancelIntentAnswer,
  cancelIntentRequest,
  changeModeAnswer,
  changeModeRequest,
  createIntentAnswer,
  createIntentRequest,
  getIntentAnswer,
  getIntentRequest,
  lastStatusAnswer,
  listDevicesAnswer,
  listDevicesRequest,
  listEventsAnswer,
  noticeBody,
} from '../contract/legacy-point.ts';
import {
  cancelPreferenceRequest,
  cancelStoreOrderRequest,
  createPreferenceRequest,
  createStoreOrderRequest,
  preferenceAnswer,
  qrCodeAnswer,
  storeOrderAnswer,
} from '../contract/legacy-qr.ts';
import { merchantOrderAnswer } from '../contract/merchant-orders.ts';
import {
  cancelOrderCall,
  createOrderCall,
  createQrOrderCall,
  getOrderCall,
  order,
  refundedOrder,
  refundOrderCall,
} from '../contract/orders.ts';
import {
  collectionNames,
  createRefundRequest,
  orderPaymentAnswer,
  payment,
  paymentChange,
  refundAnswer,
  refundCollectionRequest,
  shownPayment,
} from '../contract/payments.ts';
import {
  listTerminalsAnswer,
  listTerminalsCall,
  setupTerminalAnswer,
  setupTerminalCall,
} from '../contract/terminals.ts';
import { contextSchema } from './context.ts';
import { type Shape, shapeOf } from './shape.ts';

export interface Contract {
  name: string;
  schema: z.ZodType;
  shape: Shape;
}

const schemas: Record<string, z.ZodType> = {
  nothing: z.object({}),
  context: contextSchema,
  cancelIntentAnswer,
  cancelIntentRequest,
  cancelOrderCall,
  cancelPreferenceRequest,
  cancelStoreOrderRequest,
  collectionNames,
  createPreferenceRequest,
  createQrOrderCall,
  createRefundRequest,
  createStoreOrderRequest,
  merchantOrderAnswer,
  orderPaymentAnswer,
  payment,
  paymentChange,
  preferenceAnswer,
  qrCodeAnswer,
  refundAnswer,
  refundCollectionRequest,
  refundedOrder,
  refundOrderCall,
  shownPayment,
  storeOrderAnswer,
  changeModeAnswer,
  changeModeRequest,
  createIntentAnswer,
  createIntentRequest,
  createOrderCall,
  getIntentAnswer,
  getIntentRequest,
  getOrderCall,
  lastStatusAnswer,
  listDevicesAnswer,
  listDevicesRequest,
  listEventsAnswer,
  listTerminalsAnswer,
  listTerminalsCall,
  noticeBody,
  order,
  legacyHeaders,
  setupTerminalAnswer,
  setupTerminalCall,
};

const known = new Map<string, Contract>();

/** The contract of a name; null when tables may not name it. `nothing` has no fields, `context` is `context.ts`. */
export function contractOf(name: string): Contract | null {
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  if (!schema) return null;
  const contract = known.get(name) ?? { name, schema, shape: shapeOf(schema) };
  known.set(name, contract);
  return contract;
}
