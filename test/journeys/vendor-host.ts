/** The host name that nearly every client of the vendor has built in (`docs/field-notes.md` Point finding 4). */
export const VENDOR_HOST = 'api.mercadopago.com';
/** The other name, under which clients read merchant orders (`docs/field-notes.md` QR finding 4). */
export const OTHER_HOST = 'api.mercadolibre.com';
