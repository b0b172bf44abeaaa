/** What the name of a field says about its value, before anybody looks at the value. */

/** `id`: stays, whatever it looks like. `secret`, `card`, `person`, `contact`: never kept. `url`: its origin is kept. */
export type NameKind = 'plain' | 'id' | 'url' | 'secret' | 'card' | 'person' | 'contact';

/**
 * @param around what the object that has the field is about: everything inside of a person is about the person.
 */
export function kindOfName(name: string, around: NameKind): NameKind {
  const known = KNOWN[around].get(name);
  if (known !== undefined) return known;
  const kind = judge(name, around);
  if (KNOWN[around].size < MAX_KNOWN && name.length <= LONGEST_KNOWN) KNOWN[around].set(name, kind);
  return kind;
}

/** Bodies repeat the same names: what was said of one is said again. Strange names beyond so many are judged each time. */
const MAX_KNOWN = 2_000;
/** A name may be as long as a body is. */
const LONGEST_KNOWN = 64;
const KNOWN: Readonly<Record<NameKind, Map<string, NameKind>>> = {
  plain: new Map(),
  id: new Map(),
  url: new Map(),
  secret: new Map(),
  card: new Map(),
  person: new Map(),
  contact: new Map(),
};

function judge(name: string, around: NameKind): NameKind {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  if (SECRETS.test(plain) || SECRET_WORDS.has(plain)) return 'secret';
  if (around === 'secret' || around === 'contact') return around;
  if (CARDS.has(plain)) return 'card';
  if (CONTACTS.test(plain) || CONTACT_WORDS.has(plain)) return 'contact';
  // A payer's id and type are no names; replay and reconciling need them.
  if (around === 'person') return FACTS_OF_A_PERSON.has(plain) ? 'id' : 'person';
  if (PEOPLE.has(plain)) return 'person';
  if (around === 'url' || URLS.test(plain)) return 'url';
  return IDS.test(name) ? 'id' : 'plain';
}

/** True for names under which a long run of letters and digits is an id or a reference, not a key. */
export function isOpaqueFine(name: string): boolean {
  return IDS.test(name) || REFERENCES.test(name);
}

const SECRETS =
  /token|secret|passw|senha|authoriz|apikey|accesskey|privatekey|publickey|signature|cookie|session|credential|securitycode|hmac|bearer/;
const SECRET_WORDS = new Set(['auth', 'cvc', 'cvv', 'cvv2', 'jwt', 'pin', 'pwd', 'sign']);

const CARDS = new Set(['cardnumber', 'pan', 'track1', 'track2', 'trackdata']);

/** Ways to reach a person, and the numbers of documents. */
const CONTACTS =
  /mail|phone|telefono|telefone|celular|whatsapp|^(?:doc|document|identification|identificacion)(?:number|numero)?$/;
const CONTACT_WORDS = new Set(['ci', 'cnpj', 'cpf', 'cuil', 'cuit', 'curp', 'dni', 'rfc', 'rut', 'taxid']);

const PEOPLE = new Set([
  'buyer',
  'buyername',
  'cardholder',
  'cardholdername',
  'customer',
  'customername',
  'firstname',
  'fullname',
  'holder',
  'holdername',
  'lastname',
  'payer',
  'payername',
  'receiveraddress',
  'shopper',
  'surname',
]);
const FACTS_OF_A_PERSON = new Set(['id', 'type', 'entitytype', 'operatorid']);

const URLS = /ur[li]s?$|^(?:backurls|callback|href|initpoint|link|redirect|webhook)$/;

/** `id`, `order_id`, `ids`; a key of a header's spelling too. */
const IDS = /^(?:id|ids)$|[_-]ids?$|[a-z]Ids?$/;
const REFERENCES = /reference|^(?:collection|device|preference|sku_number|external_code|terminal)$/;
