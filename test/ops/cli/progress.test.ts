/** Progress of long work: one changing line on a terminal, a line every few seconds in a log, none for scripts. */
import { describe, expect, it } from 'vitest';
import { startProgress } from '../../../src/ops/cli/output.ts';

function watched(options: { json?: boolean }, isTTY: boolean) {
  const written: string[] = [];
  let now = 0;
  const progress = startProgress(options, 'comparing', { isTTY, write: (text) => written.push(text) }, () => now);
  return {
    written,
    at(moment_ms: number, news: string) {
      now = moment_ms;
      progress.tell(news);
    },
    end: () => progress.end(),
  };
}

describe('progress', () => {
  it('is one line that changes on a terminal, and goes away', () => {
    const { written, at, end } = watched({}, true);
    at(50, '1 link');
    at(100, '2 links');
    at(150, '3 links');
    at(200, '4 links');
    end();
    end();
    expect(written).toEqual(['\r\u001b[Kcomparing: 2 links', '\r\u001b[Kcomparing: 4 links', '\r\u001b[K']);
  });

  it('is a plain line every few seconds elsewhere', () => {
    const { written, at, end } = watched({}, false);
    for (let second = 1; second <= 7; second += 1) at(second * 1000, `${second} links`);
    end();
    expect(written).toEqual(['comparing: 3 links\n', 'comparing: 6 links\n']);
  });

  it('says nothing of what is over at once, and nothing to scripts', () => {
    const quick = watched({}, true);
    quick.at(20, '1 link');
    quick.end();
    expect(quick.written).toEqual([]);
    const script = watched({ json: true }, true);
    script.at(60_000, '1 link');
    script.end();
    expect(script.written).toEqual([]);
  });
});
