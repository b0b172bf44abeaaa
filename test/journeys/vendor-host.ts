/** The host name that nearly every client of the vendor has built in (`legacy-point.md` finding 4). */
export const VENDOR_HOST = 'api.mercadopago.com';
