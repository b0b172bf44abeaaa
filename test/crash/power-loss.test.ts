/** Power loss during sales: every disk image opens undamaged and has every sale whose answer was delivered (promise P1). */
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { closing } from '../open.ts';
import { finishChain, started } from './chain.ts';
import { type Child, killChildren } from './child.ts';
import { type Disk, type Images, imagesOf, type Mark, markNow, putDisk, takeDisk, tornLog } from './power-loss.ts';
import { type Random, seeded } from './random.ts';
import { bundleSources, type Stand, startStand } from './stand.ts';
import { startTill, type Till } from './till.ts';
import { endOfCommits } from './wal.ts';

/** Disk images; for a longer proof: `CRASH_IMAGES=20000`. */
const IMAGES = Number(process.env.CRASH_IMAGES ?? 100);
const IMAGES_OF_LOSS = 100;
const CONTROLS_OF_LOSS = 40;
/** Then the terminals of a chain are used up. */
const LOSSES_OF_CHAIN = 10;
/** Sales of one loss, in lanes that do not wait for each other. */
const LANES = 4;
const SALES_OF_LANE = 14;
const WORK_LIMIT_MS = 20_000;
const MARK_EVERY_MS = 4;
const LIMIT_MS = 240_000 + IMAGES * 300;
const SEED = Number(process.env.CRASH_SEED ?? randomInt(1, 2 ** 31));

const tally = { losses: 0, images: 0, torn: 0, delivered: 0, wrong: [] as string[], controls: 0, caught: 0 };

it('every row whose answer was delivered is in every disk image, and the server starts on a torn one and continues [F35]', {
  timeout: LIMIT_MS,
}, async () => {
  const losses = Math.ceil(IMAGES / IMAGES_OF_LOSS);
  for (let done = 0; done < losses; done += LOSSES_OF_CHAIN)
    await loseAgain(SEED + done, Math.min(LOSSES_OF_CHAIN, losses - done));
  expect(tally.wrong, `CRASH_SEED=${SEED}`).toEqual([]);
  expect(tally.images).toBeGreaterThanOrEqual(IMAGES);
  expect(tally.torn).toBeGreaterThan(IMAGES / 2);
  // Control: in a log cut before the newest delivered answer, the loss is detected every time.
  expect(tally.controls).toBe(losses * CONTROLS_OF_LOSS);
  expect(tally.caught).toBe(tally.controls);
});

async function loseAgain(seed: number, losses: number): Promise<void> {
  const random = seeded(seed);
  await using stand = closing(await startStand());
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
}

async function loseOnce(stand: Stand, till: Till, child: Child, random: Random): Promise<void> {
  const sales = sellWhile(till, child);
  const disk = await workAndStop(stand, till, child, random);
  const images = imagesOf(disk);
  try {
    examine(disk, images, random);
    control(disk, images, till, random);
  } finally {
    images.remove();
  }
  tally.losses++;
  await child.kill();
  await sales;
  // Every committed byte stays, because the upstream may have seen its effects; only the bytes behind it are garbled.
  putDisk(stand.database, disk.file, tornLog(disk, endOfCommits(disk.log).bytes, random));
}

async function sellWhile(till: Till, child: Child): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let sale = 0; sale < SALES_OF_LANE && child.alive(); sale++) await till.end(await till.sell());
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** Stops the server at a random moment, once a control is possible. */
async function workAndStop(stand: Stand, till: Till, child: Child, random: Random): Promise<Disk> {
  const limit = Date.now() + WORK_LIMIT_MS;
  const marks = [markNow(stand, till)];
  for (let quiet_ms = random.between(100, 400); ; quiet_ms = random.between(0, 40)) {
    for (const end = Date.now() + quiet_ms; Date.now() < end; await pause(MARK_EVERY_MS)) addMark(marks, stand, till);
    const disk = await takeDisk(stand, child, marks);
    if (controlsOf(disk, till).length > 0) return disk;
    if (Date.now() > limit) throw new Error(`no sale came through in time:\n${child.output()}`);
    child.process.kill('SIGCONT');
  }
}

function addMark(marks: Mark[], stand: Stand, till: Till): void {
  const known = marks.at(-1)?.delivered.length ?? 0;
  const mark = markNow(stand, till);
  if (mark.delivered.length > known) marks.push(mark);
}

/** Each image loses all or part of the log behind one of the marks, and nothing before it. */
function examine(disk: Disk, images: Images, random: Random): void {
  const [first, ...others] = disk.marks;
  if (first === undefined) throw new Error('a disk without a mark shows nothing');
  tally.delivered += disk.marks.at(-1)?.delivered.length ?? 0;
  for (let image = 0; image < IMAGES_OF_LOSS; image++) {
    const { delivered, end } = random.pick([first, ...others]);
    const { refusal, kept } = images.reopen(tornLog(disk, end.bytes, random));
    tally.images++;
    if (disk.log.length > end.bytes) tally.torn++;
    if (refusal !== null) tally.wrong.push(`an image was refused: ${refusal}`);
    else for (const id of delivered) if (!kept.has(id)) tally.wrong.push(`an image has lost ${id}`);
  }
}

/** Pairs of a mark and a sale that began after it and was answered 2xx before the end. */
function controlsOf({ marks }: Disk, till: Till): { cut: number; legacy_id: string }[] {
  const last = marks.at(-1);
  return marks.flatMap(({ begun, end }) => {
    const later = till.creates.find(({ sale, legacy_id }) => sale > begun && last?.delivered.includes(legacy_id ?? ''));
    return later?.legacy_id == null ? [] : [{ cut: end.bytes, legacy_id: later.legacy_id }];
  });
}

/** A disk without a sale whose answer was delivered must be detected as such. */
function control(disk: Disk, images: Images, till: Till, random: Random): void {
  const [first, ...others] = controlsOf(disk, till);
  if (first === undefined) throw new Error('a disk without a later sale is no control');
  for (let left = CONTROLS_OF_LOSS; left > 0; left--) {
    const { cut, legacy_id } = random.pick([first, ...others]);
    const { refusal, kept } = images.reopen(disk.log.subarray(0, random.between(0, cut)));
    tally.controls++;
    if (refusal === null && !kept.has(legacy_id)) tally.caught++;
  }
}

beforeAll(() => bundleSources(), LIMIT_MS);

afterAll(async () => {
  await killChildren();
  const { losses, images, torn, delivered, wrong, controls, caught } = tally;
  process.stdout.write(
    `CRASH_SEED=${SEED}\npower loss: ${images} images of ${losses} losses (${torn} with real writes behind the cut), ${delivered} sales with a delivered answer, ${wrong.length} lost or corrupt; control: ${caught} of ${controls} caught\n`,
  );
});
