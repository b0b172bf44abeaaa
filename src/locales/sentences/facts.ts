/** Facts that several sentences take, and what they are in English. */
/** A call that is on the way, sold or not: what a merchant's tills must have been seen doing, as findings name it. */
export const areaTexts = {
  create_point: 'create of point',
  create_qr: 'create of qr',
  create_qr_v1: 'create of qr_v1',
  read_intents: 'read of an intent',
  read_qr: 'read of a QR sale',
  cancel_intents: 'cancel of an intent',
  cancel_qr: 'cancel of a QR sale',
  devices: 'device list',
  refund: 'refund',
} as const;
export type AreaWord = keyof typeof areaTexts;

/** What a file of calls says nothing of. */
export const unknownWords = ['notice_url', 'credential', 'safety_stops', 'in_doubt'] as const;
export type UnknownWord = (typeof unknownWords)[number];
export const unknownTexts: Readonly<Record<UnknownWord, string>> = {
  notice_url: 'notice URL',
  credential: 'credential',
  safety_stops: 'safety stops',
  in_doubt: 'creates in doubt',
};

export const lossTexts = { money: 'Money', identity: 'Who or what a sale was for', other: 'Other fields' } as const;

/** What a side said of a create: refused on paper by one of two, or its own word. */
export interface SideFacts {
  by: 'orders' | 'puente' | 'itself';
  detail: string;
}

/** A shadow's verdict is kept as `refused_there 400 property_value …`. */
export function sideOf(side: string): SideFacts {
  const [, where, detail] = /^refused_(there|here) (.+)$/s.exec(side) ?? [];
  if (where === undefined || detail === undefined) return { by: 'itself', detail: side };
  return { by: where === 'there' ? 'orders' : 'puente', detail };
}

/** As a clause. */
export function sideText({ by, detail }: SideFacts): string {
  if (by === 'itself') return detail;
  return `${by === 'orders' ? 'orders' : 'Puente'} would refuse it: ${detail}`;
}

/** `kind`: a kind of work that has a stage of its own. */
export type KindFact = { kind: string };

/** `canary 5 %`; a share belongs to a canary alone. */
export function stageText(stage: string, share: number): string {
  return stage === 'canary' ? `canary ${share} %` : stage;
}

/** `once`, `3 times`. */
export function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** `1 call`, `3 calls`. */
export function callsOf(count: number): string {
  return count === 1 ? '1 call' : `${count} calls`;
}
