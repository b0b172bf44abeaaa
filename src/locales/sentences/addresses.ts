/** Why a notice may not go to an address, in English: the part of a sentence that begins "The notification URL". Kept as text. */
type Shown = string | number;

export const addressWordings = {
  'url.long': ({ most }: { most: Shown }) => `is longer than ${most} characters`,
  'url.not_ascii': () => 'has a character that is not printable ASCII; write an international host in its xn-- form',
  'url.backslash': () => 'has a backslash',
  'url.fragment': () => 'has a fragment (#…); remove it',
  'url.none': () => 'is not a URL',
  'url.not_https': () => 'does not start with https://',
  'url.user': () => 'has a user name or a password; remove it',
  'url.port': ({ port, allowed }: { port: Shown; allowed: string }) => `uses port ${port}; allowed are ${allowed}`,
  'url.own': () => "is Puente's own address",
  'url.no_host': () => 'has no name of a host',
  'url.local': ({ host }: { host: string }) => `names the host '${host}', which is this machine or its own network`,
  'url.no_address': ({ host }: { host: string }) => `names '${host}', which has no address`,
  'url.goes_to': ({ host, cause }: { host: string; cause: string }) => `goes to ${host}, which ${cause}`,
  'url.resolves_to': ({ host, address, cause }: { host: string; address: string; cause: string }) =>
    `names '${host}', which resolves to ${address}, which ${cause}`,
  'url.led_to': ({ address, cause }: { address: string; cause: string }) => `led to ${address}, which ${cause}`,
  'address.none': () => 'is not an IP address',
  'address.not_public': ({ range }: { range: string }) => `is not public (${range})`,
  'address.zone': () => 'has a zone, which no public address has',
  'address.own': () => "is Puente's own",
};
