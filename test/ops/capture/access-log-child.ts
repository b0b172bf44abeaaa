/** Assesses a log that is made as it is read, with a new path on every second line; prints what was counted. */
import { join } from 'node:path';
import { loadTables } from '../../../src/mapping/load.ts';
import { assessmentOf } from '../../../src/ops/capture/assess.ts';
import { readCapture } from '../../../src/ops/capture/read.ts';
import { redactValue } from '../../../src/proxy/evidence/redact.ts';

const LINES = Number(process.argv[2]);
const LINES_OF_A_PIECE = 500;
const DEVICE = '/point/integration-api/devices/PAX_A910__SMARTPOS0000000001/payment-intents';
const AGENT = 'a till '.repeat(50);
const tables = loadTables(join(import.meta.dirname, '../../../mappings'));
let bytes = 0;

async function* log(): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < LINES; from += LINES_OF_A_PIECE) {
    const texts = Array.from({ length: LINES_OF_A_PIECE }, (_, index) => lineOf(from + index));
    const piece = Buffer.from(texts.join(''));
    bytes += piece.length;
    yield piece;
  }
}

function lineOf(number: number): string {
  const path = number % 2 === 0 ? DEVICE : `/page-${nameOf(number)}`;
  return `10.0.0.7 - - [31/Jan/2026:09:00:00 -0300] "POST ${path} HTTP/1.1" 200 512 "-" "${AGENT}"\n`;
}

/** Letters alone: an endpoint's name replaces numbers. */
function nameOf(number: number): string {
  return [...number.toString(10)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
}

const assessment = await assessmentOf(
  readCapture(log()),
  { tables, redact: redactValue, clock: { now: () => 0 }, now: Date.parse('2026-02-01T00:00:00Z') },
  { merchant_id: '9', site: null, voucher: 'refuse', min_sample: 20, hosts: [] },
);
const endpoints = (await assessment.book.evidence.unknowns('9')).length;
process.stdout.write(JSON.stringify({ bytes, sums: assessment.sums, endpoints }));
