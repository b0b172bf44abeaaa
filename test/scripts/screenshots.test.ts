/** The pictures of the docs: the palette leaves their pixels unchanged, and the pages show each of them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { withPalette } from '../../scripts/screenshots/palette.ts';

const DOCS = join(import.meta.dirname, '../..', 'docs');
/** Bytes: pages with pictures are read on phones, too. */
const LARGEST = 120_000;

function part(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), body]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/** @param lines each with its PNG filter first. */
function pngOf(width: number, channels: 3 | 4, lines: readonly number[][]): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(lines.length, 4);
  head.set([8, channels === 4 ? 6 : 2], 8);
  const data = deflateSync(Buffer.from(lines.flat()));
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([signature, part('IHDR', head), part('IDAT', data), part('IEND', Buffer.alloc(0))]);
}

/** The colours of a palette picture without filters, line by line. */
function coloursOf(png: Buffer): number[][] {
  const parts = new Map<string, Buffer>();
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const named = png.subarray(at + 4, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(named));
    parts.set(named.toString('latin1', 0, 4), named.subarray(4));
    at += 12 + length;
  }
  const of = (type: string): Buffer => parts.get(type) ?? Buffer.alloc(0);
  const [width, height] = [of('IHDR').readUInt32BE(0), of('IHDR').readUInt32BE(4)];
  const places = inflateSync(of('IDAT'));
  return Array.from({ length: height }, (_, row) =>
    Array.from({ length: width }, (_, column) =>
      of('PLTE').readUIntBE((places[row * (width + 1) + 1 + column] ?? 0) * 3, 3),
    ),
  );
}

it('a picture of few colours keeps each of them, however its lines were written', () => {
  const [a, b] = [
    [200, 100, 50],
    [10, 20, 30],
  ];
  const same = [0, 0, 0];
  const lines = [
    [0, ...a, ...b],
    [1, ...b, ...[190, 80, 20]], // left neighbour: b, then b plus these
    [2, ...same, ...same], // line above
    [3, ...[5, 10, 15], ...[95, 40, 10]], // mean of both
    [4, ...same, ...same], // the nearest (Paeth)
  ];
  const [first, second] = [0xc86432, 0x0a141e];
  const [, , third, fourth] = coloursOf(withPalette(pngOf(2, 3, lines)));
  expect(coloursOf(withPalette(pngOf(2, 3, lines))).slice(0, 2)).toEqual([
    [first, second],
    [second, first],
  ]);
  expect(third).toEqual([second, first]);
  expect(fourth).toEqual([0x0a141e, 0xc86432]);
});

it('a picture of many colours has 256 at most, each near to what it was; what is not seen through is left out', () => {
  const lines = Array.from({ length: 64 }, (_, row) => [
    0,
    ...Array.from({ length: 64 }, (_, column) => [row * 4, column * 4, 128, 255]).flat(),
  ]);
  const colours = coloursOf(withPalette(pngOf(64, 4, lines)));
  expect(new Set(colours.flat()).size).toBeLessThanOrEqual(256);
  for (const [row, line] of colours.entries())
    for (const [column, colour] of line.entries()) {
      const [red, green, blue] = [colour >> 16, (colour >> 8) & 255, colour & 255];
      expect(Math.hypot(red - row * 4, green - column * 4, blue - 128)).toBeLessThan(40);
    }
});

it('each picture is small, and shown by a page with words for whoever does not see it', () => {
  const pages = readdirSync(DOCS)
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(join(DOCS, name), 'utf8'))
    .join('\n');
  const pictures = readdirSync(join(DOCS, 'pictures'));
  expect(pictures.length).toBeGreaterThan(3);
  for (const name of pictures) {
    expect([name, statSync(join(DOCS, 'pictures', name)).size < LARGEST]).toEqual([name, true]);
    expect(pages).toMatch(new RegExp(`!\\[[^\\]]{20,}\\]\\(pictures/${name}\\)`));
  }
});
