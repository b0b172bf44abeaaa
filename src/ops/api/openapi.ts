/** The OpenAPI document of the ops API, made from the route rows and their schemas, so that it can't say anything else. */
import { z } from 'zod';
import { refusalBody, refusalStatuses } from './errors.ts';
import { type Role, roles } from './person.ts';
import { type OpsRoute, opsRoute } from './router.ts';

type Json = Record<string, unknown>;

const DESCRIPTION = `The operators' door of Puente. The commands and the console call the same operations.
Every call carries a bearer token; each token belongs to a name with a role, and each role may do what the ones before it
may: ${roles.join(', ')}. The role an operation needs is its \`x-puente-role\`. Unknown fields are refused. Changes name a reason
and the revision that they were decided on; a refusal says what is missing and which command gives it.`;

/** The row that serves the document of all rows, itself among them. */
export function openApiRoute(version: string, others: readonly OpsRoute[]): OpsRoute {
  const row: OpsRoute = opsRoute('viewer', 'GET /api/openapi.json', {
    summary: 'This document: every operation of the ops API, with what it takes and gives.',
    answer: z.looseObject({ openapi: z.string() }),
    command: 'openapi',
    run: async () => document(),
  });
  let made: Json | null = null;
  const document = (): Json => {
    made ??= openApi(version, [row, ...others]);
    return made;
  };
  return row;
}

/** OpenAPI 3.1, whose schemas are JSON Schema 2020-12, which is what zod writes. */
export function openApi(version: string, rows: readonly OpsRoute[]): Json {
  const paths: Record<string, Json> = {};
  const shared: Json = {};
  for (const row of rows) {
    const path = row.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: operation(row, shared) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Puente, ops API', version, description: DESCRIPTION },
    security: [{ ops_token: [] }],
    paths,
    components: {
      securitySchemes: {
        ops_token: { type: 'http', scheme: 'bearer', description: 'A token of ops.token or ops.tokens.' },
      },
      schemas: { ...shared, Refusal: schemaOf(refusalBody, 'Refusal', 'output', shared) },
      responses: {
        Refusal: { description: 'What was refused, and why.', content: jsonContent(ref('schemas', 'Refusal')) },
      },
    },
  };
}

function operation(row: OpsRoute, shared: Json): Json {
  const id = operationId(row);
  return {
    operationId: id,
    summary: row.summary,
    description: `${roleSentence(row.role)} The command: \`puente ${row.command}\`.`,
    tags: [row.path.split('/')[2] ?? 'api'],
    'x-puente-role': row.role,
    'x-puente-command': row.command,
    parameters: [...pathParameters(row.path), ...queryParameters(row, id, shared)],
    ...(row.body === undefined
      ? {}
      : { requestBody: { required: true, content: jsonContent(schemaOf(row.body, `${id}_body`, 'input', shared)) } }),
    responses: {
      200: { description: 'Done.', content: answerContent(row, id, shared) },
      ...Object.fromEntries(refusalStatuses.map((status) => [status, ref('responses', 'Refusal')])),
    },
  };
}

function roleSentence(role: Role): string {
  const enough = roles.slice(roles.indexOf(role));
  return `Needs the role ${role}${enough.length > 1 ? ` (${enough.slice(1).join(' and ')} may, too)` : ''}.`;
}

function operationId({ method, path }: OpsRoute): string {
  const words = path.replace(/^\/api\//, '').replace(/[^A-Za-z0-9]+/g, '_');
  return `${method.toLowerCase()}_${words}`.replace(/_$/, '');
}

function pathParameters(path: string): Json[] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name);
  return names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function queryParameters(row: OpsRoute, id: string, shared: Json): Json[] {
  if (row.query === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(row.query, `${id}_query`, 'input', shared) as {
    properties?: Record<string, Json>;
    required?: string[];
  }; // the schema of an object has these two, by JSON Schema
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function answerContent(row: OpsRoute, id: string, shared: Json): Json {
  if (!(row.answer instanceof z.ZodType))
    return Object.fromEntries(row.answer.streams.map((type) => [type, { schema: { type: 'string' } }]));
  return jsonContent(schemaOf(row.answer, `${id}_answer`, 'output', shared));
}

/**
 * The JSON Schema of a zod schema, as it is written (`input`) or answered (`output`). What refers to a definition, or to
 * itself, is moved to the shared components, because a reference counts from the top of the document.
 */
function schemaOf(schema: z.ZodType, name: string, io: 'input' | 'output', shared: Json): Json {
  const { $schema: _dialect, $defs = {}, ...root } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  const moved = (id: string): string => (id === '' ? name : `${name}_${id}`);
  for (const [id, definition] of Object.entries($defs)) shared[moved(id)] = repointed(definition, moved);
  const own = repointed(root, moved) as Json; // an object stays one
  if (!JSON.stringify(own).includes(`"${ref('schemas', name).$ref}"`)) return own;
  shared[name] = own;
  return ref('schemas', name);
}

function repointed(value: unknown, moved: (id: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => repointed(item, moved));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const local = key === '$ref' && typeof inner === 'string' ? /^#(?:\/\$defs\/(.+))?$/.exec(inner) : null;
      return [key, local === null ? repointed(inner, moved) : ref('schemas', moved(local[1] ?? '')).$ref];
    }),
  );
}

function jsonContent(schema: Json): Json {
  return { 'application/json': { schema } };
}

function ref(kind: 'schemas' | 'responses', name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

// The page of all rows, each with its role and its command.

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
