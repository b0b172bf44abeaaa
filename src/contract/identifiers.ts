/** The forms of ids and amounts that both APIs use; anything else never reaches a path or a row. */
import { z } from 'zod';

/** `ORD` and 26 letters and digits of any kind (`interface.md`, Order); test credentials give `ORDTST` (`orders-api.md` §1.4). */
export const ORDER_ID = /^ORD(?:TST)?[0-9A-Za-z]{26}$/;
/** `{terminal_type}__{terminal_serial}`; the allow-list of `reliability.md` F76. */
export const TERMINAL_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** Point Pro 2 and 3 by the types in their ids: `interface.md` has the names alone, so these are from ids that merchants show in public. */
export const POINT_PRO_ID = /^(?:GERTEC_MP35P|PAX_Q92)__/;
/** The integrator's own id of a store or a point of sale; the same allow-list (`legacy-qr.md` §4). */
export const EXTERNAL_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** A legacy intent id is a lower-case UUID (`legacy-point.md` §1.3); upper case is accepted on the way in. */
export const INTENT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Rule of `interface.md`, Order, external_reference. */
export const ORDER_REFERENCE = /^[A-Za-z0-9_-]{1,64}$/;
/** As orders take it: two decimals or none (`interface.md`, Order); Point was seen to take one too (`orders-api.md` §11). */
export const ORDER_AMOUNT = /^\d{1,12}(?:\.\d{2})?$/;
/** An ISO 8601 duration of hours, minutes and seconds, as Puente writes one; any form is read (`duration.ts`). */
export const DURATION = /^PT(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?$/;
export const USER_ID = /^\d{1,20}$/;

/** An id that one side writes as a number and the other as a string; read as text, only when nothing is lost. */
export const digits = z.union([z.string().regex(/^\d+$/), z.int().nonnegative().transform(String)]);
