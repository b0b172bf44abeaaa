/** The host name built into nearly every client of the vendor (`docs/field-notes.md` Point finding 4). */
export const VENDOR_HOST = 'api.mercadopago.com';
/** The host name through which clients read merchant orders (`docs/field-notes.md` QR finding 4). */
export const OTHER_HOST = 'api.mercadolibre.com';
