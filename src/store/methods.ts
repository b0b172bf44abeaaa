/** The methods that both engines share. */

import type { RecordedExchange } from '../proxy/records/evidence.ts';
import type { Room } from '../proxy/records/upkeep.ts';
import { auditMethods } from './audit-lines.ts';
import { countMethods, type HandOut, type Reader, type Step, type Writer } from './engine.ts';
import { evidenceMethods, recordingMethods } from './evidence.ts';
import { exchangeMethods } from './exchanges.ts';
import { dueLinkMethods, historyMethods, linkMethods, openingMethods } from './links.ts';
import { merchantMethods } from './merchants.ts';
import { dueNoticeMethods, eventMethods, type FirstOfEach, noticeMethods } from './notices.ts';
import { refundMethods } from './refunds.ts';
import { scheduleMethods } from './retention.ts';
import { legacySaleMethods, moveMethods } from './routing.ts';

export interface EngineParts {
  reader: Reader;
  writer: Writer;
  /** Epoch ms. */
  now: () => number;
  room: () => Room;
  /** Writes the rows of a batch of exchanges, and notes where they lie. */
  rowsOf: (batch: readonly RecordedExchange[]) => Step[];
  handOut: HandOut;
  /** Prepares the read of the oldest due notices of each merchant; its values are the merchant and the time. */
  prepareFirst: (select: string, order: string) => FirstOfEach;
}

export function sharedMethods({ reader, writer, now, room, rowsOf, handOut, prepareFirst }: EngineParts) {
  return {
    ...merchantMethods(reader, writer, now),
    ...linkMethods(reader, writer, now),
    ...historyMethods(reader),
    ...dueLinkMethods(handOut),
    ...openingMethods(reader, writer),
    ...refundMethods(reader, writer, now),
    ...eventMethods(reader, writer),
    ...noticeMethods(reader, writer),
    ...dueNoticeMethods(reader, handOut, prepareFirst),
    ...legacySaleMethods(reader, writer, now),
    ...moveMethods(reader, writer, now),
    ...auditMethods(reader, writer),
    ...recordingMethods(reader, writer, room, rowsOf),
    ...exchangeMethods(reader),
    ...evidenceMethods(reader, writer),
    ...countMethods(reader),
    ...scheduleMethods(reader, writer),
  };
}
