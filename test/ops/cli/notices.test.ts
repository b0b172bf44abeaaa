/** `puente notices` for scripts, what it refuses, and redelivery of a window; golden/notices.txt has its tables. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { AttemptView, NoticeView } from '../../../src/ops/notices.ts';
import { ARGENTINA, DEVICE, eventually, OPS_TOKEN, POINT, startBench, startReceiver } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import type { Ran } from '../../run-cli.ts';
import { command } from '../moves/command.ts';

let notice: NoticeView;

const bench = openForAll(() => startBench());
const receiver = openForAll(() => startReceiver());
beforeAll(async () => {
  await bench.notify(ARGENTINA, { notice_url: receiver.url, point_payment_notices: 'off' }); // one notice per sale
  await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
  await bench.atTerminal('pay');
  const { notices } = await eventually(
    async () => (await bench.ops('/api/notices')).body as { notices: NoticeView[] }, // the API's shape
    (log) => log.notices[0]?.state === 'delivered',
  );
  notice = notices[0] as NoticeView; // the wait above found it
});

function notices(...argv: string[]): Promise<Ran> {
  return command(['notices', ...argv], { PUENTE_OPS_TOKEN: OPS_TOKEN, PUENTE_OPS_URL: bench.app.ops_url });
}

const WINDOW = ['--since', '2020-01-01T00:00:00Z', '--until', '2100-01-01T00:00:00Z'];

describe('list and show', () => {
  it('print JSON for scripts', async () => {
    const asked = ['--merchant', ARGENTINA, '--state', 'delivered', '--topic', 'point'];
    const listed = JSON.parse((await notices('list', ...asked, '--json')).out) as unknown;
    expect(listed).toMatchObject([{ id: notice.id, state: 'delivered' }]);
    const shown = JSON.parse((await notices('show', notice.id, '--json')).out) as { tries: AttemptView[] }; // the API's shape
    expect(shown.tries).toMatchObject([{ outcome: 'delivered', status: 200 }]);
  });

  it.each([
    { argv: ['list', '--state', 'lost'], says: 'delivered', exits: 2 },
    { argv: ['list', '--limit', 'many'], says: 'whole number', exits: 2 },
    { argv: ['list', '--since', 'yesterday'], says: 'since: an instant such as', exits: 1 },
    { argv: ['replay', 'x'], says: '--reason', exits: 2 },
    { argv: ['replay', '--reason', 'why not'], says: 'a window with --since and --until', exits: 1 },
    { argv: ['replay', 'x', '--reason', 'why not', ...WINDOW], says: 'not both', exits: 1 },
  ])('refuse $argv', async ({ argv, says, exits }) => {
    const { code, err } = await notices(...argv);
    expect(err).toContain(says);
    expect(code).toBe(exits);
  });
});

describe('replay', () => {
  it('says how many of a window there are, and tells them again', async () => {
    await eventually(
      async () => JSON.parse((await notices('list', '--json')).out) as NoticeView[], // the API's shape
      ([first]) => first?.state === 'delivered',
    );
    const before = receiver.received.length;
    const window = ['--reason', 'the shop lost it', '--merchant', ARGENTINA, ...WINDOW];
    expect((await notices('replay', ...window, '--dry-run')).out).toBe(
      'notices that would be redelivered: 0; 1 delivered left out, --state delivered takes them in\n',
    );
    const asked = await notices('replay', ...window, '--state', 'delivered', 'dead', '--dry-run');
    expect(asked.out).toBe('notices that would be redelivered: 1\n');
    const told = await notices('replay', ...window, '--state', 'delivered', '--json');
    expect(JSON.parse(told.out)).toEqual({ notices: 1, dry_run: false, delivered_left_out: 0 });
    await receiver.waitFor(before + 1);
  });
});

describe('a text from a till with control sequences of a terminal', () => {
  it('is printed by `trace` without its control characters, for people and for scripts [F132]', async () => {
    const external_reference = 'ref\u001b[2J\u009b1A\u202e';
    const body = { amount: 1500, additional_info: { external_reference } };
    const made = await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body });
    const { id } = made.body as { id: string }; // shape of an intent
    await bench.atTerminal('pay');
    for (const more of [[], ['--json']]) {
      const env = { PUENTE_OPS_TOKEN: OPS_TOKEN, PUENTE_OPS_URL: bench.app.ops_url };
      const { code, out } = await command(['trace', id, ...more], env);
      expect([code, out]).toEqual([0, expect.stringContaining('ref')]);
      expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
    }
  });
});
