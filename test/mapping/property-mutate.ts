/** Breaks a body in one place: another value, no value, or the value in a list. */
import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { junk } from './property-kit.ts';

type Place = (string | number)[];

/** @param bodies valid; some results are valid, too. */
export function spoiled(bodies: fc.Arbitrary<Record<string, unknown>>): fc.Arbitrary<Record<string, unknown>> {
  return fc.tuple(bodies, fc.nat(), fc.constantFrom('put', 'remove', 'wrap'), junk).map(([body, pick, how, value]) => {
    const all = placesOf(body, []);
    const place = all[pick % all.length] ?? [];
    return changed(body, place, how, value) as Record<string, unknown>; // the body itself is never replaced
  });
}

function placesOf(value: unknown, at: Place): Place[] {
  const own = at.length === 0 ? [] : [at];
  if (value === null || typeof value !== 'object' || value instanceof LosslessNumber) return own;
  return [
    ...own,
    ...Object.entries(value).flatMap(([key, inner]) =>
      placesOf(inner, [...at, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

function changed(value: unknown, place: Place, how: string, put: unknown): unknown {
  const [first, ...rest] = place;
  if (first === undefined) return how === 'wrap' ? [value] : put;
  const entries = Object.entries(value as object); // the place exists
  const kept = entries
    .filter(([key]) => how !== 'remove' || rest.length > 0 || key !== String(first))
    .map(([key, inner]) => [key, key === String(first) ? changed(inner, rest, how, put) : inner] as const);
  return Array.isArray(value) ? kept.map(([, inner]) => inner) : Object.fromEntries(kept);
}
