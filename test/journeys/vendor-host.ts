/** The host name that nearly every client of the vendor has built in (`legacy-point.md` finding 4). */
export const VENDOR_HOST = 'api.mercadopago.com';
/** The other name, under which clients read merchant orders (`legacy-qr.md` §0 row 4). */
export const OTHER_HOST = 'api.mercadolibre.com';
