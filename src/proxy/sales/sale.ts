/** A sale that a till asks for: what a family's create story knows of it; everything else is the protocol's. */
import type { LegacyErrorName } from '../../contract/legacy-errors.ts';
import type { LinkFamily, MappingContext } from '../../mapping/tables.ts';
import type { Answered } from '../http/legacy-answer.ts';
import type { HeldFields, Link } from './link.ts';

export interface Sale {
  family: LinkFamily;
  unit: string;
  /** False for a dynamic QR: any number of them may be live on one till. */
  holds_unit: boolean;
  /** The client's own reference; null when it gave none. */
  client_reference: string | null;
  held: HeldFields;
  notice_url: string | null;
  /** Further context of the request table. */
  context: MappingContext;
  /** Told when the sale before this one is not known yet, or is in the way. */
  busy_error: LegacyErrorName;
  /** Something live is on the unit and is no retry: make room (`freed`), or say why not. */
  makeRoom(holder: Link, deadline: number): Promise<'freed' | Answered>;
  /** The answer for a created order whose link is committed. */
  created(link: Link): Answered;
}
