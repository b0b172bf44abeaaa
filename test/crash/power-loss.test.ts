/** Power loss under sales: every image of the disk opens whole and has all that was acknowledged (promise P1). */
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { finishChain, started } from './chain.ts';
import { type Child, killChildren } from './child.ts';
import { type Disk, readDisk, reopen, restoreDisk, takeDisk, tornLog } from './power-loss.ts';
import { type Random, seeded } from './random.ts';
import { bundleSources, removeBundle, type Stand, startStand } from './stand.ts';
import { startTill, type Till } from './till.ts';
import { endOfCommits } from './wal.ts';

/** Images of disks; more for a longer proof: `CRASH_POWER_IMAGES=20000`. */
const IMAGES = Number(process.env.CRASH_POWER_IMAGES ?? 500);
/** From one loss, with one server's work before it. */
const IMAGES_OF_LOSS = 50;
const CONTROLS_OF_LOSS = 5;
/** Terminals of one chain are used up after that. */
const LOSSES_OF_CHAIN = 20;
/** How often a server is stopped for one loss, until its disk allows a control. */
const TRIES = 8;
const LIMIT_MS = 240_000 + IMAGES * 300;
const SEED = Number(process.env.CRASH_SEED ?? randomInt(1, 2 ** 31));

interface Tally {
  images: number;
  /** With writes behind what was acknowledged. */
  torn: number;
  acknowledged: number;
  wrong: string[];
  controls: number;
  caught: number;
}

const tally: Tally = { images: 0, torn: 0, acknowledged: 0, wrong: [], controls: 0, caught: 0 };

it('what was acknowledged is in every image, and the server goes on with a torn one [F35]', {
  timeout: LIMIT_MS,
}, async () => {
  const losses = Math.ceil(IMAGES / IMAGES_OF_LOSS);
  for (let done = 0; done < losses; done += LOSSES_OF_CHAIN)
    await loseAgain(SEED + done, Math.min(LOSSES_OF_CHAIN, losses - done));
  expect(tally.wrong, `CRASH_SEED=${SEED}`).toEqual([]);
  expect(tally.images).toBeGreaterThanOrEqual(IMAGES);
  expect(tally.torn).toBeGreaterThan(0);
  // The control: cut before the acknowledged size, and the loss is seen each time.
  expect(tally.caught).toBe(tally.controls);
  expect(tally.controls).toBeGreaterThan(0);
});

/** One directory, and one loss after the other. */
async function loseAgain(seed: number, losses: number): Promise<void> {
  const random = seeded(seed);
  const stand = await startStand();
  try {
    const till = startTill(stand, random);
    for (let loss = 0; loss < losses; loss++) {
      const child = await started(stand);
      till.payUnanswered();
      await till.retryLost();
      await loseOnce(stand, till, child, random);
    }
    await started(stand);
    const { violations } = await finishChain('power loss', seed, stand, till);
    tally.wrong.push(...violations.map(({ text }) => text));
  } finally {
    await stand.close();
  }
}

async function loseOnce(stand: Stand, till: Till, child: Child, random: Random): Promise<void> {
  const sales = sellWhile(till, child);
  let { before, disk } = await stopAndTake(stand, till, child, random);
  // A control needs a disk whose file is still what it was when the log was shorter.
  for (let again = 0; again < TRIES && (disk === null || !canControl(before, disk, till)); again++) {
    child.process.kill('SIGCONT');
    ({ before, disk } = await stopAndTake(stand, till, child, random));
  }
  if (disk === null) throw new Error('the log was begun again at each try');
  examine(disk, random);
  if (canControl(before, disk, till)) control(disk, before.end.bytes);
  await child.kill();
  await sales;
  // All that was committed stays, because the upstream may have seen its effects; what is behind it is garbage.
  restoreDisk(stand, disk, tornLog(disk, endOfCommits(disk.log).bytes, random));
}

interface Before extends ReturnType<typeof readDisk> {
  /** Sales begun until then. */
  begun: number;
}

async function stopAndTake(
  stand: Stand,
  till: Till,
  child: Child,
  random: Random,
): Promise<{ before: Before; disk: Disk | null }> {
  const before = { ...readDisk(stand), begun: till.sales.length };
  await pause(random.between(60, 200));
  return { before, disk: await takeDisk(stand, till, child, random) };
}

/** Sales were begun and acknowledged since then, and are in the log alone. */
function canControl({ file, end, begun }: Before, disk: Disk, till: Till): boolean {
  if (!disk.file.equals(file) || disk.synced.salts !== end.salts) return false;
  const acknowledged = new Set<string | null>(disk.acknowledged);
  return till.creates.some(({ sale, legacy_id }) => sale > begun && acknowledged.has(legacy_id));
}

/** Tills that never wait for each other, until the power is gone. */
async function sellWhile(till: Till, child: Child): Promise<void> {
  const one = async (): Promise<void> => {
    for (let sale = 0; sale < 8 && child.alive(); sale++) await till.end(await till.sell());
  };
  await Promise.all([one(), one(), one(), one(), one()]);
}

function examine(disk: Disk, random: Random): void {
  tally.acknowledged += disk.acknowledged.length;
  for (let image = 0; image < IMAGES_OF_LOSS; image++) {
    const log = tornLog(disk, disk.synced.bytes, random);
    const { refusal, lost } = reopen(disk, log);
    tally.images++;
    if (disk.log.length > disk.synced.bytes) tally.torn++;
    if (refusal !== null) tally.wrong.push(`an image was refused: ${refusal}`);
    for (const id of lost) tally.wrong.push(`${id} was acknowledged, and an image has lost it`);
  }
}

/** Sales since then were acknowledged, and a disk that has not kept them must be seen to have lost them. */
function control(disk: Disk, earlier_bytes: number): void {
  for (let image = 0; image < CONTROLS_OF_LOSS; image++) {
    const { lost } = reopen(disk, disk.log.subarray(0, earlier_bytes + image));
    tally.controls++;
    if (lost.length > 0) tally.caught++;
  }
}

beforeAll(() => bundleSources(), LIMIT_MS);

afterAll(async () => {
  await killChildren();
  removeBundle();
  const { images, torn, acknowledged, wrong, controls, caught } = tally;
  process.stdout.write(
    `CRASH_SEED=${SEED}\npower loss: ${images} images (${torn} with unsynced writes), ${acknowledged} acknowledged sales in them, ${wrong.length} lost or corrupt; control: ${caught} of ${controls} caught\n`,
  );
});
