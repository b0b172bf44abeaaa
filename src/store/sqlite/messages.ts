/** The messages between the main thread and the writer thread. */
import type { KeyObject } from 'node:crypto';
import type { AuditEntry } from '../../proxy/audit.ts';
import type { Step, Unit, UnitResult, Value } from '../engine.ts';
import type { WriteName } from '../writes.ts';

export interface WriterSetup {
  path: string;
  opened_at: number;
  /** Upper limit of the file in pages; 0 leaves SQLite's own. */
  max_pages: number;
  /** As the store's own; a key travels to a thread as it is, and has no text there either. */
  cover_key?: KeyObject;
}

export type ToWriter = { kind: 'group'; units: Packed } | { kind: 'close' };
export type FromWriter =
  | { kind: 'ready' }
  | { kind: 'refused'; message: string }
  | { kind: 'results'; results: UnitResult[] }
  | { kind: 'fatal'; text: string }
  | { kind: 'closed' };

// Units as they travel to the writer thread: one flat list.

/** Of each unit: how many steps, its audit line, its checkpoint; then of each step: its name, the rows it must change, its values and how many. */
export type Packed = (Value | boolean | AuditEntry)[];

/**
 * A message is copied object by object and name by name; as one list a create's copy takes less than half the
 * time (8 µs for 20, both threads together). Locks stay behind: one writer needs none.
 */
export function pack(units: readonly Unit[]): Packed {
  const packed: Packed = [];
  for (const { steps, audit = null, checkpoint = false } of units) {
    packed.push(steps.length, audit, checkpoint);
    for (const { write, values, changes = null } of steps) {
      packed.push(write, changes, values.length);
      for (const value of values) packed.push(value);
    }
  }
  return packed;
}

/** The units that `pack` was given, without their locks. */
export function unpack(packed: Packed): Unit[] {
  const units: Unit[] = [];
  for (let at = 0; at < packed.length; ) {
    const [count, audit, checkpoint] = packed.slice(at, at + 3) as [number, AuditEntry | null, boolean];
    at += 3;
    const steps: Step[] = [];
    for (let step = 0; step < count; step++) {
      const [write, changes, length] = packed.slice(at, at + 3) as [WriteName, number | null, number];
      at += 3;
      const values = packed.slice(at, at + length) as Value[];
      at += length;
      steps.push(changes === null ? { write, values } : { write, values, changes });
    }
    units.push({ steps, ...(audit === null ? {} : { audit }), ...(checkpoint ? { checkpoint } : {}) });
  }
  return units;
}
