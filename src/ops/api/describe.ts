/** Tells people what the ops API can do: a page of all rows, each with its role and its command. */
import type { OpsRoute } from './route.ts';

/** The page `src/ops/api/README.md`. */
export function renderOperations(rows: readonly OpsRoute[]): string {
  const lines = rows
    .toSorted((first, second) => (first.path < second.path ? -1 : Number(first.path > second.path)))
    .map(
      ({ method, path, role, command, summary }) =>
        `| \`${method} ${path}\` | ${role} | \`puente ${command}\` | ${summary.replaceAll('|', '\\|')} |`,
    );
  return `<!-- Generated from the route rows by \`npm run generate\`; change those instead. -->

# The ops API

Each call carries \`Authorization: Bearer …\` with a token of \`ops.token\` or \`ops.tokens\`; each role may do what the ones before
it may: viewer, operator, approver. A refusal is \`{error, message, …}\`, and its message says what to do next. What each
operation takes and gives stands in \`GET /api/openapi.json\`, which the same rows and their schemas make.

| Operation | Role | Command | What it is for |
|---|---|---|---|
${lines.join('\n')}
`;
}
