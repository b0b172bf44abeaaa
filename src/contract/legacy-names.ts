/** Properties as the errors of the in-store families name them: in their codes, and in their texts. */

/** A property in the code and in the text of a refusal: v1 has one code for all of items; nobody counts elements. */
export function namesOf(family: string, detail: string): { code: string; text: string } {
  const isProperty = /^[A-Za-z_]/.test(detail);
  if (!isProperty || (family !== 'qr' && family !== 'qr_v1')) return { code: detail, text: detail };
  const name = detail.replaceAll(/\[\d*\]/g, '');
  const parts = name.split('.');
  if (family === 'qr_v1') return { code: parts[0] ?? name, text: parts.at(-1) ?? name };
  const own = ownNames[name] ?? name;
  return { code: own, text: own };
}

/** Fields that the reference names otherwise than their place in the request (`legacy-qr.md` §1.2 errors). */
const ownNames: Readonly<Record<string, string>> = {
  'items.unit_measure': 'unit_measure',
  'items.quantity': 'quantity',
  'items.unit_price': 'unit_price',
  external_pos_id: 'externalPosId',
  user_id: 'collectorId',
};
