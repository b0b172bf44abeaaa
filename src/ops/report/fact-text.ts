/** A fact of the audit chain in words that people read; scripts read the JSON. */

/** `verdict ready, samples 120, target (stage orders, share none)`; '' for nothing. */
export function factText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return plain(value);
  return partsOf(value).join(', ');
}

function partsOf(value: object): string[] {
  if (Array.isArray(value)) return value.map(inside);
  return Object.entries(value).map(([name, part]) => `${name.replaceAll('_', ' ')} ${inside(part)}`);
}

function inside(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value !== 'object') return plain(value) || 'empty';
  const parts = partsOf(value);
  return parts.length === 0 ? 'none' : `(${parts.join(', ')})`;
}

/** Yes and no, and numbers with two decimals at most. */
function plain(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'number' ? String(Math.round(value * 100) / 100) : String(value);
}
