/** The merchants' receivers of notices: they answer by their mood, and some read inside their handler. */
import { quoted } from '../../src/locales/message.ts';
import type { Sender, SendResult } from '../../src/proxy/notices/delivery.ts';
import type { NoticeRequest } from '../../src/proxy/notices/request.ts';
import type { Random } from '../crash/random.ts';
import type { SimulatedClock } from './clock.ts';
import type { Delivery } from './history.ts';
import type { ReceiverMood } from './steps.ts';

/** Timeout of the product (`docs/field-notes.md` Spec IPN). */
export const PATIENCE_MS = 22_000;
const FASTEST_MS = 5;
const SLOWEST_MS = 300;

export interface Receivers {
  log: Delivery[];
  moods: Map<string, { mood: ReceiverMood; until: number }>;
  connect(life: { isAlive(): boolean }): Sender;
  pending(): number;
  reset(random: Random): void;
}

/** @param heard runs inside a receiver's handler, before it answers. */
export function createReceivers(clock: SimulatedClock, heard: (delivery: Delivery) => void): Receivers {
  let random: Random | null = null;
  let pending = 0;

  function moodOf(url: string): ReceiverMood {
    const merchant_id = /\/(\d+)$/.exec(new URL(url).pathname)?.[1] ?? '';
    const set = receivers.moods.get(merchant_id);
    return set === undefined || clock.now() >= set.until ? 'well' : set.mood;
  }

  function send(request: NoticeRequest, life: { isAlive(): boolean }): Promise<SendResult> {
    if (random === null) throw new Error('the receivers have no plan');
    const mood = moodOf(request.url);
    const way_ms = random.between(FASTEST_MS, SLOWEST_MS);
    pending++;
    return new Promise((resolve) => {
      const tell = (delay_ms: number, result: SendResult): void => {
        clock.after(delay_ms, () => {
          pending--;
          if (life.isAlive()) resolve(result);
        });
      };
      if (mood === 'refuses') return tell(way_ms, failed('The connection was refused.'));
      clock.after(way_ms, () => {
        const status = STATUS[mood];
        const delivery = {
          at: clock.now(),
          url: request.url,
          status,
          is_lost: mood === 'answer lost',
          ...readNotice(request),
        };
        receivers.log.push(delivery);
        heard(delivery);
        if (mood === 'hangs') return tell(PATIENCE_MS, failed('The receiver did not answer.'));
        if (mood === 'answer lost') return tell(way_ms, failed('The connection broke.'));
        const outcome = status === 200 ? 'delivered' : 'theirs';
        tell(way_ms, { outcome, status, detail: quoted(`The receiver answered ${status}.`), retry_after_ms: null });
      });
    });
  }

  const receivers: Receivers = {
    log: [],
    moods: new Map(),
    pending: () => pending,
    connect: (life) => ({
      send: (request) => (life.isAlive() ? send(request, life) : new Promise(() => undefined)),
      close: async () => undefined,
    }),
    reset(next) {
      random = next;
      pending = 0;
      receivers.log = [];
      receivers.moods.clear();
    },
  };
  return receivers;
}

/** The receiver's own result; a lost answer was an answer to the receiver. */
const STATUS: Readonly<Record<ReceiverMood, number | null>> = {
  well: 200,
  errors: 500,
  hangs: null,
  refuses: null,
  'accepts wrongly': 204,
  'answer lost': 200,
};

function failed(detail: string): SendResult {
  return { outcome: 'theirs', status: null, detail: quoted(detail), retry_after_ms: null };
}

/** The intent, the feed's `topic` and `id`, or a webhook (`docs/field-notes.md` Point §3.1, QR §5.1, §5.3). */
function readNotice({ url, body }: NoticeRequest): Pick<Delivery, 'topic' | 'subject' | 'state'> {
  const query = new URL(url).searchParams;
  const topic = query.get('topic') ?? query.get('type') ?? '';
  const subject = query.get('id') ?? query.get('data.id') ?? '';
  const said = JSON.parse(body) as { state?: unknown; status?: unknown }; // notices are JSON objects
  if (topic === 'topic_merchant_order_wh') return { topic, subject, state: String(said.status) };
  return {
    topic: topic.startsWith('point') ? 'point' : topic,
    subject,
    state: said.state === undefined ? null : String(said.state),
  };
}
