/** What no table knows of a call: an endpoint, a header or a field, noted by a name that has nobody's ids in it. */

import { createRecent } from '../recent.ts';
import type { ExchangeDraft, UnknownHit } from './exchange.ts';
import { redactName } from './redact.ts';

/** Longest name that is kept. */
const MAX_NAME = 200;
/** Kept of one call; a till that invents more is known by the first ones. */
const MAX_HITS = 50;
/** A part of a path as APIs name them; everything else is somebody's id. */
const PATH_WORD = /^(v\d{1,2}|[a-z][a-z_.-]{0,31})$/;

/** Notes a hit, once for a call; indices of lists and long numbers are not part of a name. */
export function noteUnknown(draft: Pick<ExchangeDraft, 'unknown'>, what: UnknownHit['what'], found: string): void {
  if (draft.unknown.length >= MAX_HITS) return;
  const name = nameOf(found);
  if (!draft.unknown.some((hit) => hit.what === what && hit.name === name)) draft.unknown.push({ what, name });
}

/** The same few come again with every call, and looking for what hides in one takes longer than all else that is noted. */
const KNOWN_NAMES = 1_000;
const names = createRecent<string>(KNOWN_NAMES);

function nameOf(found: string): string {
  const known = names.get(found);
  if (known !== undefined) return known;
  const name = redactName(found)
    .replaceAll(/\[\d+\]/g, '[]')
    .replaceAll(/\d{6,}/g, '#')
    .slice(0, MAX_NAME)
    .toWellFormed();
  // Nothing longer than a name is kept, whatever somebody invents.
  if (found.length <= MAX_NAME) names.set(found, name);
  return name;
}

/** `PUT /stores/:id`. @param target path and query as they came. */
export function endpointName(method: string, target: string): string {
  const [path = ''] = target.split('?', 1);
  const parts = path.split('/').map((part) => (part === '' || PATH_WORD.test(part) ? part : ':id'));
  return `${method} ${parts.join('/')}`;
}
