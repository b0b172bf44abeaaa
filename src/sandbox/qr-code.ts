/** The text that a QR code shows: EMVCo fields with a checksum, as the service's own codes have them. Source: `legacy-qr.md` §1.3, EMVCo merchant-presented QR specification. */
import type { Site } from './cast.ts';
import { amountText } from './money.ts';

/** One code for one payment. `reference` is the part that the wallet looks the payment up by: 36 letters live. */
export function qrData(site: Site, reference: string, total_minor: number, seller: string): string {
  const text = [
    field('00', '01'), // version of the format
    field('01', '12'), // for one payment only
    site.site_id === 'MLB' ? pixAccount(reference) : walletAccount(reference),
    field('52', '0000'), // no category of merchant
    field('53', currencyNumbers[site.currency] ?? ''),
    field('54', amountText(total_minor, site.exponent)),
    field('58', site.country_alpha2),
    field('59', seller.slice(0, 25)),
    field('60', cities[site.country_alpha2] ?? ''),
    field('62', field('05', '***')), // no reference label
    '6304', // the checksum covers its own tag and length
  ].join('');
  return text + checksum(text);
}

/** CRC-16/CCITT-FALSE over the text, as four upper-case hexadecimal digits (EMVCo). */
export function checksum(text: string): string {
  let crc = 0xffff;
  for (const byte of Buffer.from(text, 'utf8')) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc.toString(16).toUpperCase().padStart(4, '0');
}

/** Tag, length in two digits, value. */
function field(tag: string, value: string): string {
  return tag + String(value.length).padStart(2, '0') + value;
}

function walletAccount(reference: string): string {
  return field('43', field('00', 'COM.MERCADOLIBRE') + field('02', '3') + field('06', reference));
}

/** In Brazil any bank's app pays, by a Pix location. */
function pixAccount(reference: string): string {
  return field('26', field('00', 'br.gov.bcb.pix') + field('25', `${PIX_LOCATION}${reference.replaceAll('-', '')}`));
}

const PIX_LOCATION = 'pix-qr.mercadopago.com/instore/o/v2/';

/** ISO 4217. */
const currencyNumbers: Readonly<Record<string, string>> = {
  ARS: '032',
  BRL: '986',
  CLP: '152',
  MXN: '484',
  UYU: '858',
};

/** At most 15 letters. */
const cities: Readonly<Record<string, string>> = {
  AR: 'Buenos Aires',
  BR: 'Sao Paulo',
  CL: 'Santiago',
  MX: 'Mexico',
  UY: 'Montevideo',
};
