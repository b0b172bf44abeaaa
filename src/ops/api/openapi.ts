/** The OpenAPI document of the ops API, made from the route rows and their schemas, so that both always agree. */
import { z } from 'zod';
import { refusalBody, refusalStatuses } from './errors.ts';
import { isEnough, type Role, roles } from './person.ts';
import { type OpsRoute, opsRoute } from './route.ts';
import type { CommandRow } from './rows.ts';

type Json = Record<string, unknown>;
type Document = Json & { openapi: string };

const TOKENS = `Every call needs a bearer token of \`ops.token\` or \`ops.tokens\`; each token has a name and a role. An operator may
also do what a viewer may, and an approver what both may. The role rollback may roll back by alert, and nothing else.`;
const DESCRIPTION = `The operators' door of Puente. The commands and the console call the same operations. ${TOKENS}
The role that an operation needs is its \`x-puente-role\`. Unknown fields are refused. A change has a reason
and the revision on which it was decided; a refusal says what is missing and which command gives it.`;

/** `GET /api/openapi.json`; the document is made at the first request. @param others all other rows of the API. */
export function openApiRoute(version: string, others: readonly OpsRoute[]): OpsRoute {
  const row: OpsRoute = opsRoute('viewer', 'GET /api/openapi.json', {
    summary: 'This document: every operation of the ops API, with what it takes and gives.',
    answer: z.looseObject({ openapi: z.string() }),
    command: 'openapi',
    run: async () => document(),
  });
  let made: Document | null = null;
  const document = (): Document => {
    made ??= openApi(version, [row, ...others]);
    return made;
  };
  return row;
}

/** OpenAPI 3.1: its schemas are JSON Schema 2020-12, which zod writes. No schema of the rows is recursive. */
export function openApi(version: string, rows: readonly OpsRoute[]): Document {
  const paths: Record<string, Json> = {};
  for (const row of rows) {
    const path = row.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: operation(row) };
  }
  const refusal = jsonContent({ $ref: '#/components/schemas/Refusal' });
  return {
    openapi: '3.1.0',
    info: { title: 'Puente, ops API', version, description: DESCRIPTION },
    security: [{ ops_token: [] }],
    paths,
    components: {
      securitySchemes: {
        ops_token: { type: 'http', scheme: 'bearer', description: 'A token of ops.token or ops.tokens.' },
      },
      schemas: { Refusal: schemaOf(refusalBody, 'output') },
      responses: { Refusal: { description: 'What was refused, and why.', content: refusal } },
    },
  };
}

function operation(row: OpsRoute): Json {
  const refusals = refusalStatuses.map((status) => [status, { $ref: '#/components/responses/Refusal' }]);
  return {
    operationId: operationId(row),
    summary: row.summary,
    description: `${roleSentence(row.role)} The command: \`puente ${row.command}\`.`,
    tags: [row.path.split('/')[2] ?? 'api'],
    'x-puente-role': row.role,
    'x-puente-command': row.command,
    parameters: [...pathParameters(row.path), ...queryParameters(row)],
    ...(row.body === undefined
      ? {}
      : { requestBody: { required: true, content: jsonContent(schemaOf(row.body, 'input')) } }),
    responses: { 200: { description: 'Done.', content: answerContent(row) }, ...Object.fromEntries(refusals) },
  };
}

function roleSentence(role: Role): string {
  const enough = [role, ...roles.filter((one) => one !== role && isEnough(one, role))];
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

function queryParameters({ query }: OpsRoute): Json[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(query, 'input');
  return Object.entries(properties).map(([name, schema]) => {
    return { name, in: 'query', required: required.includes(name), schema };
  });
}

function answerContent({ answer }: OpsRoute): Json {
  if (answer instanceof z.ZodType) return jsonContent(schemaOf(answer, 'output'));
  return Object.fromEntries(answer.streams.map((type) => [type, { schema: { type: 'string' } }]));
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output') {
  const { $schema: _dialect, ...own } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return own;
}

function jsonContent(schema: object): Json {
  return { 'application/json': { schema } };
}

/** The file `src/ops/api/rows.json`, a row a line. */
export function renderRows(rows: readonly OpsRoute[]): string {
  return `[\n${rows.map((row) => JSON.stringify(commandRow(row))).join(',\n')}\n]\n`;
}

function commandRow({ method, path, command, summary, body, query = z.strictObject({}) }: OpsRoute): CommandRow {
  const made = schemaOf(body ?? query, 'input');
  // Of a union, the first is what a command sends.
  const taken = (made.anyOf?.[0] as typeof made | undefined) ?? made; // zod types it wider
  const { properties = {}, required = [] } = taken as Pick<CommandRow, 'properties' | 'required'>; // every body and query is a strict object
  return { method, path, command, summary, has_body: body !== undefined, properties, required };
}

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

${TOKENS}
A refusal is \`{error, message, …}\`, and its message says what to do next. \`GET /api/openapi.json\` describes
the request and the answer of each operation.

| Operation | Role | Command | What it is for |
|---|---|---|---|
${lines.join('\n')}
`;
}
