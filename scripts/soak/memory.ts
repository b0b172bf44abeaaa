/** What a process holds in memory, by what holds it. */
import { readFileSync } from 'node:fs';

/** V8 asks for its pages below it, at random; the C library's and the kernel's own lie above (`GetRandomMmapAddr`, x64). */
const PAGES_OF_V8_BELOW = 2 ** 46;
const MAPPING = /^([0-9a-f]+)-[0-9a-f]+ (\S{4}) \S+ \S+ \S+ *(.*)$/;
const RESIDENT = /^(?:Vm)?R(?:ss|SS):\s+(\d+) kB$/m;

/** @returns bytes. @throws Error when the process is gone, as the other one does. */
export function residentBytes(pid: number): number {
  return residentIn(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

/**
 * What SQLite, sockets and buffers have allocated: memory neither of a JavaScript heap nor of a file nor of compiled code.
 * V8 keeps pages that it does not use for a while and counts them to no heap, so that resident memory less its heaps is no
 * measure of it. The process can't map memory while its maps are read, some milliseconds.
 * @returns bytes that are in memory now.
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
