/** A world as one JSON document, and back: `GET /_sandbox/snapshot`, `POST /_sandbox/restore` and the data file. */
import { z } from 'zod';
import { parseJson, stringifyJson } from '../contract/json.ts';
import { PuenteError } from '../error.ts';
import { type CollectionName, collections, countersSchema, listSchemas, timerSchema } from './collections.ts';
import { createFault } from './faults.ts';
import { isFinal, stateOf } from './legacy/lifecycle.ts';
import { parseSettings, type World } from './world.ts';

/** Rises with each change of the shapes in `records.ts`; another version is refused. */
const SNAPSHOT_VERSION = 1;

const names = Object.keys(collections) as CollectionName[]; // the keys of an object literal

const snapshotSchema = z.strictObject({
  version: z.literal(SNAPSHOT_VERSION),
  /** `ahead_ms`: virtual time minus real time; 0 in manual mode. */
  clock: z.strictObject({ mode: z.enum(['real', 'manual']), now_ms: z.int(), ahead_ms: z.int() }),
  settings: z.record(z.string(), z.unknown()),
  counters: countersSchema,
  /** By due time; notifications that were being sent are due at once. */
  timers: z.array(timerSchema),
  ...listSchemas,
  ...(Object.fromEntries(names.map((name) => [name, z.array(collections[name].schema)])) as unknown as {
    [Name in CollectionName]: z.ZodArray<(typeof collections)[Name]['schema']>;
  }), // one list for each name
});
type Snapshot = z.output<typeof snapshotSchema>;

/**
 * The only clear access tokens in it are the invented ones of the cast, which `GET /_sandbox/state` shows too.
 * @param has_secrets whether to include the secrets that sign webhooks; the control door never shows them.
 */
export function takeSnapshot(world: World, has_secrets: boolean): string {
  const { clock, settings, faults } = world;
  const { webhook_secret, ...shown } = settings;
  const now_ms = clock.now();
  const sending = [...world.under_way].map((one) => ({ due_at_ms: now_ms, job: { kind: 'deliver', ...one } }));
  return stringifyJson({
    version: SNAPSHOT_VERSION,
    clock: { mode: clock.mode(), now_ms, ahead_ms: clock.mode() === 'real' ? now_ms - clock.realNow() : 0 },
    settings: has_secrets ? settings : shown,
    counters: world.counters,
    timers: [...sending, ...clock.timers()],
    faults: faults.map(({ rule, matched, acted }) => ({ rule, matched, acted })),
    requests: world.request_log.list(),
    sent: world.sent_log.list(),
    ...Object.fromEntries(names.map((name) => [name, [...world[name].values()]])),
    merchants: [...world.merchants.values()].map((merchant) => ({ ...merchant, site: merchant.site.site_id })),
    notice_targets: [...world.notice_targets.values()].map(({ secret, ...target }) =>
      has_secrets && secret !== undefined ? { ...target, secret } : target,
    ),
  });
}

/**
 * Replaces the present world; secrets that the snapshot does not have stay.
 * @param time `as_saved`: the time of the snapshot. `goes_on`: time in real mode has run on since.
 * @throws PuenteError bad_request or bad_setting, when the document is not valid; nothing has changed then.
 */
export function restoreSnapshot(world: World, text: string, time: 'as_saved' | 'goes_on'): Promise<void> {
  const snapshot = readSnapshot(text);
  const settings = parseSettings({ webhook_secret: world.settings.webhook_secret, ...snapshot.settings });
  const secrets = new Map([...world.notice_targets.values()].map(({ merchant_id, secret }) => [merchant_id, secret]));
  return world.refill(() => {
    Object.assign(world.settings, settings);
    Object.assign(world.counters, snapshot.counters);
    for (const name of names) fillCollection(world, snapshot, name);
    for (const target of world.notice_targets.values()) {
      const secret = target.secret ?? secrets.get(target.merchant_id);
      if (secret !== undefined) target.secret = secret;
    }
    for (const { rule, ...counts } of snapshot.faults) world.faults.push({ ...createFault(rule), ...counts });
    for (const line of snapshot.requests) world.request_log.push(line);
    for (const line of snapshot.sent) world.sent_log.push(line);
    fillIndexes(world);
    const { mode, now_ms, ahead_ms } = snapshot.clock;
    const goesOn = time === 'goes_on' && mode === 'real';
    world.clock.restore(mode, goesOn ? world.clock.realNow() + ahead_ms : now_ms, snapshot.timers);
  });
}

function fillCollection<Name extends CollectionName>(world: World, snapshot: Snapshot, name: Name): void {
  // The same name selects the list, the key and the map of one kind of record.
  const keyOf = collections[name].keyOf as (record: unknown) => string | number;
  const map = world[name] as Map<string | number, unknown>;
  for (const record of snapshot[name]) map.set(keyOf(record), record);
}

function fillIndexes(world: World): void {
  for (const order of world.orders.values()) {
    world.references.set(`${order.merchant_id}/${order.external_reference}`, order);
  }
  for (const intent of world.intents.values()) {
    if (intent.create_key !== null && !isFinal(stateOf(intent)))
      world.keyed_intents.set(intent.create_key.name, intent);
  }
  for (const order of world.qr_orders.values()) {
    if (order.state === 'open' && order.mode !== 'dynamic') world.shown.set(order.pos_id, order);
  }
  const numbered = [...world.qr_orders.values()].flatMap((order) =>
    order.merchant_order_id === null ? [] : [[order.merchant_order_id, order] as const],
  );
  for (const [number, order] of numbered.sort(([one], [other]) => one - other))
    world.merchant_orders.set(number, order);
}

/** Faults that an error names; the first few are enough. */
const NAMED_FAULTS = 5;

/** @throws PuenteError bad_request, naming the faults. */
function readSnapshot(text: string): Snapshot {
  let document: unknown;
  try {
    // Settings and faults are plain JSON; in records, numbers from tills keep their source text.
    const { settings, faults } = JSON.parse(text) as { settings?: unknown; faults?: unknown };
    document = { ...(parseJson(text) as object), settings, faults };
  } catch {
    throw new PuenteError(
      'bad_request',
      'The snapshot is not valid JSON; send the text that GET /_sandbox/snapshot gave.',
    );
  }
  const { version } = document as { version?: unknown };
  if (version !== SNAPSHOT_VERSION) {
    const found = version === undefined ? 'The snapshot has no version' : `The snapshot has version ${version}`;
    throw new PuenteError('bad_request', `${found}; this sandbox reads version ${SNAPSHOT_VERSION}.`);
  }
  const parsed = snapshotSchema.safeParse(document);
  const faults = parsed.success
    ? brokenReferences(parsed.data)
    : parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  if (parsed.success && faults.length === 0) return parsed.data;
  const more = faults.length > NAMED_FAULTS ? `; and ${faults.length - NAMED_FAULTS} more` : '';
  throw new PuenteError(
    'bad_request',
    `The snapshot does not hold: ${faults.slice(0, NAMED_FAULTS).join('; ')}${more}.`,
  );
}

/** Every record that another one names must exist. */
function brokenReferences(snapshot: Snapshot): string[] {
  const merchants = new Set(snapshot.merchants.map(({ user_id }) => user_id));
  const payments = new Set(snapshot.payments.map(({ id }) => id));
  const orders = new Set(snapshot.orders.map(({ id }) => id));
  const qr_orders = new Set(snapshot.qr_orders.map(({ id }) => id));
  const intents = new Set([...snapshot.intents, ...snapshot.refund_intents].map(({ id }) => id));
  const terminals = new Set(snapshot.terminals.map(({ merchant_id, id }) => `${merchant_id}/${id}`));
  const owned = names.flatMap((name) =>
    snapshot[name].flatMap((record, index) => {
      const isLost = 'merchant_id' in record && !merchants.has(record.merchant_id);
      return isLost ? [`${name}.${index}: there is no merchant ${record.merchant_id}`] : [];
    }),
  );
  const missing = (where: string, isThere: boolean, what: string): string[] =>
    isThere ? [] : [`${where}: there is no ${what}`];
  return [
    ...owned,
    ...snapshot.terminals.flatMap(({ occupation }, index) => {
      const isThere = occupation === null || (occupation.kind === 'order' ? orders : intents).has(occupation.id);
      return missing(`terminals.${index}`, isThere, `${occupation?.kind} ${occupation?.id}`);
    }),
    ...snapshot.payables.flatMap(({ kind, id }, index) =>
      missing(`payables.${index}`, (kind === 'order' ? orders : qr_orders).has(id), `${kind} ${id}`),
    ),
    ...snapshot.orders.flatMap(({ transaction: { reference_id } }, index) =>
      missing(`orders.${index}`, reference_id === null || payments.has(reference_id), `payment ${reference_id}`),
    ),
    ...[...snapshot.intents, ...snapshot.refund_intents].flatMap(({ id, merchant_id, device_id }) =>
      missing(`intent ${id}`, terminals.has(`${merchant_id}/${device_id}`), `terminal ${device_id}`),
    ),
  ];
}
