/** The forms of ids and amounts that both APIs use; anything else never reaches a path or a row. */
import { z } from 'zod';

/** `ORD` + ULID; test credentials give `ORDTST` + ULID (`orders-api.md` §1.4). */
export const ORDER_ID = /^ORD(?:TST)?[0-9A-HJKMNP-TV-Z]{26}$/;
/** `{terminal_type}__{terminal_serial}`; the allow-list of `reliability.md` F76. */
export const TERMINAL_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** The integrator's own id of a store or a point of sale; the same allow-list (`legacy-qr.md` §4). */
export const EXTERNAL_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** A legacy intent id is a lower-case UUID (`legacy-point.md` §1.3); upper case is accepted on the way in. */
export const INTENT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Rule of `interface.md`, Order, external_reference. */
export const ORDER_REFERENCE = /^[A-Za-z0-9_-]{1,64}$/;
/** Point accepts one or two decimals or none (`orders-api.md` §11). */
export const POINT_AMOUNT = /^\d{1,12}(?:\.\d{1,2})?$/;
/** QR accepts two decimals or none (`orders-api.md` §11). */
export const QR_AMOUNT = /^\d{1,12}(?:\.\d{2})?$/;
/** ISO 8601 duration as the orders API takes it: hours, minutes, seconds. */
export const DURATION = /^PT(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?$/;
export const USER_ID = /^\d{1,20}$/;

/** An id that one side writes as a number and the other as a string; read as text, only when nothing is lost. */
export const digits = z.union([z.string().regex(/^\d+$/), z.int().nonnegative().transform(String)]);
