/** A whole migration: opens the stand, the office and four shops, and plays the scenes in order. */
import { createOffice, type Office, people } from './office.ts';
import { scenes } from './scenes.ts';
import { openShop, type Shop } from './shop.ts';
import { type Stand, startStand } from './stand.ts';
import type { Transcript } from './transcript.ts';

/** The context that scenes share; they also store values for later scenes. */
export interface Journey {
  stand: Stand;
  office: Office;
  transcript: Transcript;
  /** Argentina and Brazil sell by terminal, Chile by code, Mexico by both. */
  shops: { ar: Shop; br: Shop; cl: Shop; mx: Shop };
  output: string;
  /** Epoch ms of the first day. */
  began_at: number;
  /** The head of the audit chain on the first day: `sequence:hash`. */
  noted_head: string;
  /** Advances to nine o'clock UTC of the next day. */
  nextDay(days?: number): Promise<void>;
}

export interface Scene {
  title: string;
  play(journey: Journey): Promise<void>;
}

const DAY_MS = 86_400_000;
const NINE_MS = 9 * 3_600_000;

const TERMINALS = [
  'PAX_A910__SMARTPOS0000000001',
  'NEWLAND_N950__SBX0000001',
  ...[1, 2, 3, 4, 5, 6].map((nth) => `NEWLAND_N950__LOAD000000${nth}`),
];
const CODES = ['SUC001POS001', 'SUC001POS002', 'SUC002POS001'];

/**
 * @param output directory for the reports.
 * @param afterwards runs after the last scene, before everything is closed.
 * @returns the HTML report of the fleet.
 */
export async function playJourney(
  transcript: Transcript,
  output: string,
  afterwards: Scene['play'] = async () => undefined,
): Promise<string> {
  const stand = await startStand(people);
  const opened: Shop[] = [];
  const open = async (name: string, known_as: string, merchant: string, site: string, units: readonly string[]) => {
    const shop = await openShop(stand, { name, known_as, merchant, site, units });
    opened.push(shop);
    return shop;
  };
  try {
    const shops = {
      ar: await open('AR', 'Café del Sur', '700100200', 'MLA', TERMINALS),
      br: await open('BR', 'Padaria Sol', '700100300', 'MLB', TERMINALS),
      cl: await open('CL', 'Bazar Luz', '700100500', 'MLC', CODES),
      mx: await open('MX', 'Tacos Norte', '700100400', 'MLM', [...TERMINALS.slice(0, 2), ...CODES.slice(0, 1)]),
    };
    const nextDay = async (days = 1): Promise<void> => {
      const now = stand.now();
      await stand.pass((Math.floor(now / DAY_MS) + days) * DAY_MS + NINE_MS - now);
      transcript.tell('clock', `it is ${new Date(stand.now()).toISOString().slice(0, 16)}Z`);
    };
    await nextDay();
    const office = createOffice(stand.ops_url, transcript);
    const journey: Journey = {
      stand,
      office,
      transcript,
      shops,
      output,
      began_at: stand.now(),
      noted_head: '',
      nextDay,
    };
    for (const [index, scene] of scenes.entries()) {
      transcript.tell('scene', `${index + 1}. ${scene.title}`);
      await scene.play(journey);
    }
    await afterwards(journey);
    return `${output}/fleet.html`;
  } finally {
    for (const shop of opened) await shop.close();
    await stand.close();
  }
}
