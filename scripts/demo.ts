/** `npm run demo`: a till speaks the legacy Point API, every payment is an order underneath; told in seconds, and checked. */
import { Command } from 'commander';
import { createCashier } from './demo/cashier.ts';
import { scenes } from './demo/scenes.ts';
import { MERCHANT, type Stand, startStand, TOKEN } from './demo/stand.ts';
import { startTill, type Till } from './demo/till.ts';
import { createTranscript, type Transcript } from './demo/transcript.ts';

/** Invented; the till and Puente share it, as a shop and the vendor's panel would. */
const NOTICE_SECRET = 'the-secret-of-the-demo-till';

const options = new Command('npm run demo --')
  .description('Tells the payment story against the sandbox. Exit code 0 when everything was as it should be, else 1.')
  .option('--json', 'print the transcript as JSON instead')
  .parse()
  .opts<{ json?: boolean }>();

const colours = process.stdout.isTTY && !process.env.NO_COLOR;
const transcript = createTranscript((line) => void (options.json || process.stdout.write(`${line}\n`)), colours);
const stand = await startStand();
try {
  const till = await startTill(stand.public_url, TOKEN, NOTICE_SECRET);
  try {
    await tellStory(stand, till, transcript);
  } finally {
    await till.close();
  }
} finally {
  await stand.close();
}
if (options.json) {
  process.stdout.write(`${JSON.stringify({ holds: transcript.holds(), entries: transcript.entries() }, null, 2)}\n`);
}
process.exitCode = transcript.holds() ? 0 : 1;

async function tellStory(stand: Stand, till: Till, transcript: Transcript): Promise<void> {
  transcript.tell(
    'scene',
    `Puente at ${stand.public_url}, the sandbox behind it, a till of merchant ${MERCHANT} in front`,
  );
  await stand.notify(till.notice_url, NOTICE_SECRET);
  const cashier = createCashier(stand, till, transcript);
  for (const [index, scene] of scenes.entries()) {
    transcript.tell('scene', `${index + 1}. ${scene.title}`);
    await scene.play(cashier);
  }
  transcript.tell('scene', 'In the end');
  const counts = {
    payments: cashier.sales.length,
    notices: till.notices.length,
    orders: (await stand.orders()).length,
  };
  const { payments } = counts;
  const text = `${payments} payments at the till, ${counts.notices} notices, ${counts.orders} orders underneath`;
  transcript.expect(`${text}: all equal`, counts, { payments, notices: payments, orders: payments });
}
