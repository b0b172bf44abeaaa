/** Values that must never be stored, in every place of a message and in six encodings; shared by tests of all sinks. */
import type { CapturedMessages } from '../../../src/proxy/evidence/redact.ts';

export const TOKEN = 'APP_USR-4004001-112026-c0ffeec0ffeec0ffeec0ffeec0ffee77-700100200';
export const CARD = '5031755734530604';
export const EMAIL = 'marta.canary@buyers.example.test';
export const SECRET = 'Canary9f3c5b7a1d2e4f60Secret8b7a6c5d4e3f2a10';

export const encodings: Readonly<Record<string, (text: string) => string>> = {
  raw: (text) => text,
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  hex: (text) => Buffer.from(text).toString('hex'),
  percent: (text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  utf16: (text) => Buffer.from(text, 'utf16le').toString('latin1'),
};

/** The text in the unnamed places of a message, where only its form reveals it. */
export function everywhere(canary: string): CapturedMessages {
  const bare = canary.replaceAll('\0', '');
  return {
    request: {
      method: 'POST',
      target: `/point/integration-api/devices/${encodeURIComponent(canary)}/payment-intents?q=${encodeURIComponent(canary)}&access_token=${bare}&${encodeURIComponent(canary)}=1`,
      headers: {
        authorization: `Bearer ${bare}`,
        'x-anything': canary,
        'user-agent': `till/1 ${canary}`,
        'x-idempotency-key': canary,
        cookie: `session=${canary}`,
      },
      body: {
        amount: 1500,
        id: canary,
        title: `for ${canary}, with thanks`,
        external_reference: canary,
        [canary]: 1,
        deep: [{ list: [{ note: canary }] }],
        inside: JSON.stringify({ note: canary, deeper: JSON.stringify({ note: canary }) }),
        notification_url: `https://user:${bare}@shop.example.test/hook/${encodeURIComponent(canary)}?key=${encodeURIComponent(canary)}`,
        remark: `see https://shop.example.test/${encodeURIComponent(canary)} first`,
      },
    },
    answer: { status: 201, headers: { location: `/x/${canary}`, 'set-cookie': canary }, body: `plain text ${canary}` },
    upstream: [
      { method: 'POST', path: `/v1/orders/${canary}`, body: { description: canary }, status: 400, answer: [canary] },
    ],
  };
}

/** A secret without a recognizable form, in the places whose names mark it as one. */
export function inSecretPlaces(canary: string): CapturedMessages {
  const bare = canary.replaceAll('\0', '');
  return {
    request: {
      method: 'POST',
      target: `/webhooks?secret=${encodeURIComponent(canary)}&client_secret=${encodeURIComponent(canary)}`,
      headers: { authorization: bare, 'x-signature': `ts=1,v1=${canary}`, 'x-api-key': canary, 'x-shop': canary },
      body: {
        client_secret: canary,
        clientSecret: { of: [canary] },
        password: canary,
        cvv: canary,
        inside: JSON.stringify({ refresh_token: canary }),
        notification_url: `https://shop.example.test/${encodeURIComponent(canary)}`,
        callback: `https://shop.example.test/?k=${encodeURIComponent(canary)}`,
      },
    },
    answer: { status: 200, headers: {}, body: `grant=code&client_secret=${encodeURIComponent(bare)}&x=1` },
    upstream: [],
  };
}

/** Every form in which a text could hold the canary; lower case, because hexadecimal has both. */
export function tracesOf(canary: string): string[] {
  return Object.values(encodings).flatMap((encode) => {
    const text = encode(canary);
    return [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)].map((one) => one.toLowerCase());
  });
}
