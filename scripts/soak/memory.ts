/** Memory of a process, by owner. */
import { readFileSync } from 'node:fs';

/** V8 maps its pages at random addresses below; the C library and the kernel map above (`GetRandomMmapAddr`, x64). */
const PAGES_OF_V8_BELOW = 2 ** 46;
const MAPPING = /^([0-9a-f]+)-[0-9a-f]+ (\S{4}) \S+ \S+ \S+ *(.*)$/;
const RESIDENT = /^(?:Vm)?R(?:ss|SS):\s+(\d+) kB$/m;

/** @returns resident bytes. @throws Error when the process is gone, as `nativeBytes` does. */
export function residentBytes(pid: number): number {
  return residentIn(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/**
 * Memory allocated by SQLite, sockets and buffers: not the JavaScript heap, files or compiled code. V8 keeps unused
 * pages for a while outside its heap counts, so resident memory minus the heaps is no measure of it. Reading the maps
 * blocks the process for some milliseconds.
 * @returns resident bytes.
 */
export function nativeBytes(pid: number): number {
  const maps = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(/\n(?=[0-9a-f]+-)/);
  return maps.filter(isNative).reduce((sum, map) => sum + residentIn(map), 0);
}

function isNative(map: string): boolean {
  const [, from = '', rights = '', name = ''] = MAPPING.exec(map.slice(0, map.indexOf('\n'))) ?? [];
  if (name !== '') return name === '[heap]';
  return !rights.includes('x') && Number.parseInt(from, 16) >= PAGES_OF_V8_BELOW;
}

function residentIn(text: string): number {
  return Number(RESIDENT.exec(text)?.[1] ?? Number.NaN) * 1024;
}
