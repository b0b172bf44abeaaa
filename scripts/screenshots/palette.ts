/** Makes a screenshot small: a palette of 256 colours, enough for pages of text and plain areas. */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const MOST_COLOURS = 256;

interface Pixels {
  width: number;
  height: number;
  /** Three bytes per pixel: red, green, blue. */
  bytes: Buffer;
}

/** @param png 8 bits per channel, RGB or opaque RGBA, not interlaced, as Chromium takes screenshots. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, bytes } = pixelsOf(png);
  const counts = new Map<number, number>();
  for (let at = 0; at < bytes.length; at += 3) {
    const colour = bytes.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = paletteOf(counts);
  const nearest = new Map([...counts.keys()].map((colour) => [colour, nearestOf(palette, colour)]));
  const lines = Buffer.alloc(height * (width + 1)); // each line begins with its filter, 0 for none
  for (let pixel = 0; pixel < width * height; pixel++)
    lines[pixel + Math.floor(pixel / width) + 1] = nearest.get(bytes.readUIntBE(pixel * 3, 3)) ?? 0;
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3], 8); // bits per pixel, colour type palette
  const colours = Buffer.concat(
    palette.map((colour) => Buffer.from([colour >> 16, (colour >> 8) & 255, colour & 255])),
  );
  const parts = [
    part('IHDR', head),
    part('PLTE', colours),
    part('IDAT', deflateSync(lines, { level: 9 })),
    part('IEND'),
  ];
  return Buffer.concat([SIGNATURE, ...parts]);
}

/** The most frequent colours, without near duplicates: shades of letters would fill the palette. */
function paletteOf(counts: Map<number, number>): number[] {
  const frequent = [...counts].toSorted((a, b) => b[1] - a[1] || a[0] - b[0]).map(([colour]) => colour);
  for (let apart = 0; ; apart += 8) {
    const palette: number[] = [];
    for (const colour of frequent) {
      if (palette.every((one) => distance(one, colour) > apart)) palette.push(colour);
      if (palette.length > MOST_COLOURS) break;
    }
    if (palette.length <= MOST_COLOURS) return palette;
  }
}

function nearestOf(palette: readonly number[], colour: number): number {
  let best = 0;
  for (const [index, one] of palette.entries())
    if (distance(one, colour) < distance(palette[best] ?? 0, colour)) best = index;
  return best;
}

/** Squared distance; 0 for equal colours. */
function distance(a: number, b: number): number {
  const of = (shift: number): number => ((a >> shift) & 255) - ((b >> shift) & 255);
  return of(16) ** 2 + of(8) ** 2 + of(0) ** 2;
}

function pixelsOf(png: Buffer): Pixels {
  const data: Buffer[] = [];
  let [width, height, channels] = [0, 0, 3];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 8, at + 8 + length);
    const type = png.toString('latin1', at + 4, at + 8);
    if (type === 'IHDR')
      [width, height, channels] = [body.readUInt32BE(0), body.readUInt32BE(4), body[9] === 6 ? 4 : 3];
    if (type === 'IDAT') data.push(body);
    at += 12 + length;
  }
  const lines = unfiltered(inflateSync(Buffer.concat(data)), width * channels, channels);
  const bytes = Buffer.alloc(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++)
    lines.copy(bytes, pixel * 3, pixel * channels, pixel * channels + 3);
  return { width, height, bytes };
}

/** Reverses the filter of each line (PNG specification, section 9). */
function unfiltered(raw: Buffer, size: number, channels: number): Buffer {
  const rows = raw.length / (size + 1);
  const out = Buffer.alloc(rows * size);
  for (let row = 0; row < rows; row++) {
    const filter = raw[row * (size + 1)] ?? 0;
    for (let column = 0; column < size; column++) {
      const at = row * size + column;
      const left = column < channels ? 0 : (out[at - channels] ?? 0);
      const up = row === 0 ? 0 : (out[at - size] ?? 0);
      const corner = row === 0 || column < channels ? 0 : (out[at - size - channels] ?? 0);
      const guess = [0, left, up, Math.floor((left + up) / 2), paeth(left, up, corner)][filter] ?? 0;
      out[at] = (raw[row * (size + 1) + 1 + column] ?? 0) + guess;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [by_left, by_up, by_corner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (by_left <= by_up && by_left <= by_corner) return left;
  return by_up <= by_corner ? up : corner;
}

function part(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), body]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
