/** Tells people what can be set: the schema's settings with the reasons that `config/default.yaml` gives. */
import { readFileSync } from 'node:fs';
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml';
import { factsOf } from './kinds.ts';
import { leaves, variableOf } from './schema.ts';

export interface SettingDescription {
  /** Dotted, as in a configuration file. */
  path: string;
  variable: string;
  /** As written in `config/default.yaml`. */
  default: string;
  /** As written in `config/sandbox.yaml`, when it differs there. */
  sandbox: string | null;
  allowed: string;
  /** What it is for and why the default is what it is; empty when the file doesn't say. */
  comment: string;
}

/** Every setting, in the order of the schema. */
export function describeSettings(): SettingDescription[] {
  const defaults = written('default.yaml');
  const sandbox = written('sandbox.yaml');
  return leaves().map(({ path, kind }) => {
    const name = path.join('.');
    return {
      path: name,
      variable: variableOf(path),
      default: defaults.get(name)?.value ?? '',
      sandbox: sandbox.get(name)?.value ?? null,
      allowed: factsOf(kind).allowed,
      comment: defaults.get(name)?.comment ?? '',
    };
  });
}

/** The page `config/README.md`. */
export function renderSettings(): string {
  const rows = describeSettings().map((setting) => {
    const sandbox = setting.sandbox === null ? '' : ` (sandbox: \`${setting.sandbox}\`)`;
    const what = `${setting.comment} Allowed: ${setting.allowed}.`;
    return `| \`${setting.path}\` | \`${setting.variable}\` | \`${setting.default}\`${sandbox} | ${what.replaceAll('|', '\\|')} |`;
  });
  return `<!-- Generated from default.yaml, sandbox.yaml and the schema by \`npm run generate\`; change those instead. -->

# Settings

Puente reads \`config/default.yaml\`, then \`config/sandbox.yaml\` while \`upstream\` is \`sandbox\`, then the YAML file that
\`PUENTE_CONFIG\` names (\`config/example.yaml\` is one to start from), then the variables below; later ones win. A variable
set to nothing means \`null\`; a list is written with commas. A bad or unknown setting, in a file or a variable, refuses to
start with a sentence that names it.

| Setting | Variable | Default | What it is for |
|---|---|---|---|
${rows.join('\n')}
`;
}

/** The leaves of a configuration file as they are written, by dotted path. */
function written(file: string): Map<string, { value: string; comment: string }> {
  const text = readFileSync(new URL(`../../config/${file}`, import.meta.url), 'utf8');
  const found = new Map<string, { value: string; comment: string }>();
  const root = parseDocument(text).contents;
  if (isMap(root)) collect(root, [], found);
  return found;
}

function collect(section: YAMLMap, above: readonly string[], found: Map<string, { value: string; comment: string }>) {
  for (const [index, { key, value }] of section.items.entries()) {
    if (!isScalar(key)) continue;
    const path = [...above, String(key.value)];
    if (isMap(value) && value.items.length > 0) {
      collect(value, path, found);
    } else {
      // The parser hangs a comment above the first key of a section on the section itself.
      const comment = (index === 0 && above.length > 0 ? section.commentBefore : key.commentBefore) ?? '';
      // The file's own opening stands above the first setting, an empty line away.
      const own = comment.split('\n\n').at(-1) ?? '';
      const sentence = own
        .split('\n')
        .map((part) => part.trim())
        .join(' ')
        .trim();
      found.set(path.join('.'), { value: isScalar(value) ? String(value.value) : String(value), comment: sentence });
    }
  }
}
