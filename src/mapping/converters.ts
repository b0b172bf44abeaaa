/** Every converter by the name that a row uses. */

import { merchantOrderConverters, paymentConverters } from './converters/payments.ts';
import { pointConverters } from './converters/point.ts';
import { qrConverters } from './converters/qr.ts';
import type { Converter } from './values.ts';

export const converters: Readonly<Record<string, Converter>> = {
  ...pointConverters,
  ...paymentConverters,
  ...merchantOrderConverters,
  ...qrConverters,
};
