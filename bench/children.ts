/** The processes that a process has started, as `/proc` knows them. */
import { readdirSync, readFileSync } from 'node:fs';

/** @returns the pids of those whose parent it is now. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

/** Null when it has ended. */
export function parentOf(pid: string): number | null {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return null; // it has ended meanwhile
  }
}
