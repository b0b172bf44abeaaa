/** Paths of operations as patterns: a part that begins with a colon stands for any value. */

/**
 * The values that a path has where a pattern names parameters.
 * @param pattern like `/point/integration-api/payment-intents/:intent_id`.
 * @param path without a query; a slash at its end changes nothing.
 * @returns null where the path is another one, and where a value is empty.
 */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/');
  const given = path.replace(/(?<=.)\/$/, '').split('/');
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] as string; // there are as many
    if (part.startsWith(':') && value !== '') found[part.slice(1)] = value;
    else if (part !== value) return null;
  }
  return found;
}
