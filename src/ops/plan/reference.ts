/** References to secrets in a file of merchants; the command reads what they name, without the rest of the file. */
import { isAlias, isScalar, type Node, parseDocument, visit } from 'yaml';

/** Where a value stands that is not in the file: a variable, or a file beside it. */
export const REFERENCE = /^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:\S.*)$/;

/** The fields of a merchant that are secrets, or may contain one. */
export const secretNames = ['notice_url', 'notice_secret', 'credential'] as const;

/** A file may not hold these in clear: it names a variable or a file instead. */
export function isSecretName(name: string): boolean {
  return secretNames.some((one) => one === name);
}

/** The references of a text that need not be valid. */
export function referencesIn(text: string): string[] {
  const found = new Set<string>();
  // The library finds the node of an alias by a walk of the whole text.
  const anchors = new Map<string, Node>();
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: false });
  visit(document, {
    Value: (_key, node) => void (node.anchor && anchors.set(node.anchor, node)),
    Pair(_nth, { key, value }) {
      if (!isScalar(key) || !isSecretName(String(key.value))) return;
      const named = isAlias(value) ? anchors.get(value.source) : value;
      if (isScalar(named) && typeof named.value === 'string' && REFERENCE.test(named.value)) found.add(named.value);
    },
  });
  return [...found];
}
