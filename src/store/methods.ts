/** The methods that both engines share. */

import type { RecordedExchange } from '../proxy/records/evidence.ts';
import type { Room } from '../proxy/records/upkeep.ts';
import type { FirstOfEach, HandOut, Reader, Step, Writer } from './engine.ts';
import { evidenceMethods, recordingMethods } from './evidence.ts';
import { exchangeMethods } from './exchanges.ts';
import { auditMethods, countMethods, historyMethods } from './history.ts';
import { incidentMethods } from './incidents.ts';
import { dueLinkMethods, linkMethods, openingMethods } from './links.ts';
import { merchantMethods } from './merchants.ts';
import { dueNoticeMethods, eventMethods, noticeMethods } from './notices.ts';
import { refundMethods } from './refunds.ts';
import { scheduleMethods } from './retention.ts';
import { legacySaleMethods, moveMethods } from './routing.ts';
import { saleListMethods } from './sales.ts';

interface EngineParts {
  reader: Reader;
  writer: Writer;
  /** Epoch ms. */
  now: () => number;
  /** While the level is not `enough`, evidence is refused. */
  room: () => Room;
  /** The steps that insert the rows of a batch. */
  rowsOf: (batch: readonly RecordedExchange[]) => Step[];
  handOut: HandOut;
  firstOfEach: FirstOfEach;
}

/** Each engine adds its inbox, its upkeep and the deletion of old exchanges. */
export function sharedMethods({ reader, writer, now, room, rowsOf, handOut, firstOfEach }: EngineParts) {
  return {
    ...merchantMethods(reader, writer, now),
    ...linkMethods(reader, writer, now),
    ...historyMethods(reader),
    ...dueLinkMethods(handOut),
    ...openingMethods(reader, writer),
    ...refundMethods(reader, writer, now),
    ...eventMethods(reader, writer),
    ...noticeMethods(reader, writer),
    ...dueNoticeMethods(reader, handOut, firstOfEach),
    ...legacySaleMethods(reader, writer, now),
    ...saleListMethods(reader),
    ...moveMethods(reader, writer, now),
    ...auditMethods(reader, writer),
    ...incidentMethods(reader, writer),
    ...recordingMethods(reader, writer, room, rowsOf),
    ...exchangeMethods(reader),
    ...evidenceMethods(reader, writer),
    ...countMethods(reader),
    ...scheduleMethods(reader, writer),
  };
}
