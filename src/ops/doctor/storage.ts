/** What the doctor says of the store: schema, integrity, disk, log, restores, backups. */
import type { BackupManifest, StoreCondition } from '../../proxy/records/upkeep.ts';
import { bytesText, durationText, type Finding, fine, found } from './finding.ts';
import type { Installation } from './installation.ts';

/** A schedule may be late by a run before anybody is told. */
const LATE = 2;
/** How long after a restore the doctor still speaks of it: as long as events are looked at again. */
const GAP_TOLD_MS = 7 * 86_400_000;

export interface StorageFacts {
  condition: StoreCondition;
  /** `ok`, or what is wrong with the file. */
  integrity: string;
  is_healthy: boolean;
  /** Newest first. */
  backups: BackupManifest[];
  /** Events since the gap began that no sale was found for. */
  unmatched_since_gap: number;
  /** Epoch ms. */
  now: number;
}

export function storageFindings(facts: StorageFacts, installation: Installation): Finding[] {
  return [
    schema(facts),
    integrity(facts),
    writes(facts),
    disk(facts, installation),
    log(facts, installation),
    backups(facts, installation),
    ...gap(facts),
  ];
}

function schema({ condition: { engine, schema, newest_schema } }: StorageFacts): Finding {
  return fine('schema', `${engine}, schema ${schema} of ${newest_schema}`);
}

function integrity({ integrity, condition }: StorageFacts): Finding {
  if (integrity === 'ok') return fine('integrity', `${bytesText(condition.file_bytes)} were read and are sound`);
  return found(
    'problem',
    'integrity',
    `The file is damaged: ${integrity}.`,
    'Stop Puente and restore a backup: puente restore FILE --into DIR --replace',
  );
}

function writes({ is_healthy }: StorageFacts): Finding {
  if (is_healthy) return fine('writes', 'the last write succeeded');
  return found(
    'problem',
    'writes',
    'The last write failed.',
    'See that the disk has room and nobody else writes to the file',
  );
}

function disk({ condition: { room, file_bytes } }: StorageFacts, { disk }: Installation): Finding {
  const { free_bytes, level } = room;
  const says = `${free_bytes === null ? 'nobody can say how much is' : `${bytesText(free_bytes)} are`} free; the database takes ${bytesText(file_bytes)}`;
  if (level === 'enough') return fine('disk', says);
  const refused = `${says}. New sales are refused${level === 'full' ? ', and the reserve for sales under way is being used' : ''}.`;
  return found(
    'problem',
    'disk',
    refused,
    `See that ${bytesText(disk.low_bytes + disk.ballast_bytes)} are free on that disk, for new sales and for the reserve; Puente recovers by itself`,
  );
}

function log({ condition: { room } }: StorageFacts, { disk }: Installation): Finding {
  if (!room.is_log_large) return fine('write-ahead log', bytesText(room.log_bytes));
  return found(
    'warning',
    'write-ahead log',
    `It has ${bytesText(room.log_bytes)}, more than ${bytesText(disk.log_limit_bytes)}, and can't be emptied.`,
    'End whatever reads the database file: a shell, a copy, a backup of the whole disk',
  );
}

function backups({ backups, now }: StorageFacts, { backup_every_ms, backup_directory }: Installation): Finding {
  const [newest] = backups;
  const take = 'Make one: puente backup';
  if (newest === undefined) return found('warning', 'backups', `There is none in ${backup_directory}.`, take);
  const age_ms = now - Date.parse(newest.made_at);
  if (age_ms < 0)
    return found(
      'warning',
      'backups',
      `${backups.length}, and the newest says ${newest.made_at}, which is still to come: the clock was wrong then, or is now.`,
      `Set the clock by NTP. ${take}`,
    );
  const says = `${backups.length}, the newest ${newest.file} of ${durationText(age_ms)} ago`;
  if (backup_every_ms === null)
    return found(
      'note',
      'backups',
      `${says}; no schedule makes any.`,
      'Set backup.every_ms, or make them: puente backup',
    );
  if (age_ms <= LATE * backup_every_ms) return fine('backups', says);
  return found(
    'warning',
    'backups',
    `${says}, later than backup.every_ms says.`,
    `See the log of Puente for why. ${take}`,
  );
}

function gap({ condition, unmatched_since_gap, now }: StorageFacts): Finding[] {
  if (condition.gap === null || now - condition.gap.until > GAP_TOLD_MS) return [];
  const { from, until } = condition.gap;
  const lost = `Restored from a backup: what was written between ${instant(from)} and ${instant(until)} is not in it.`;
  const unplaced = `${unmatched_since_gap} events since then found no sale.`;
  return [
    found(
      unmatched_since_gap > 0 ? 'warning' : 'note',
      'restored',
      `${lost} Sales with a reference of Puente's own come back with their events; ${unplaced}`,
      'Compare that time with the panel of the vendor, and see: puente reconcile, puente audit list --action "restored sale". Moves and settings of that time are gone too: puente merchants list',
    ),
  ];
}

function instant(at: number): string {
  return new Date(at).toISOString();
}
