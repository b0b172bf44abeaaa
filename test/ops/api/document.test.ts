/** The OpenAPI document and the rows it is generated from: complete, valid, and a command for every operation. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { opsRoutes } from '../../../src/ops/api/api.ts';
import { openApi } from '../../../src/ops/api/openapi.ts';
import { opsRoute } from '../../../src/ops/api/route.ts';
import { commandsOf, isAct } from '../../../src/ops/cli/help.ts';
import { exitCodes } from '../../../src/ops/cli/output.ts';
import { helpOf, programHere } from '../../program.ts';

const LOCAL = [
  'serve',
  'sandbox',
  'restore',
  'migrate-store',
  'check',
  'explain',
  'fidelity',
  'init',
  'assess',
  'replay',
  'report diff',
  'completion',
];
/** With the tables of a folder it needs no running Puente; its row does the same with those in force. */
const BOTH = 'explain';
/** Commands that set one of the settings that `merchants set` can set. */
const SHORTHANDS = ['capture on', 'capture off'];

interface Operation {
  operationId: string;
  summary: string;
  'x-puente-role': string;
  'x-puente-command': string;
  parameters: { name: string; in: string; required: boolean; schema: object }[];
  requestBody?: { content: object };
  responses: Record<string, { content?: Record<string, { schema: object }>; $ref?: string }>;
}

const document = openApi('1.2.3', opsRoutes) as {
  openapi: string;
  info: object;
  paths: Record<string, Record<string, Operation>>;
}; // verified by the tests below

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

function follow(reference: string): unknown {
  const steps = reference.replace(/^#\//, '').split('/');
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], document); // a path into JSON
}

function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : referencesIn(inner),
  );
}

function looseObjects(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const within = Object.values(schema).flatMap(looseObjects);
  const is_loose =
    'properties' in schema && !('additionalProperties' in schema && schema.additionalProperties === false);
  return is_loose ? [Object.keys(schema.properties as object).join(', '), ...within] : within;
}

const program = programHere();
const commands = commandsOf(program).filter(({ command }) => isAct(command));

describe('the rows', () => {
  it('each have a place of their own', () => {
    const places = opsRoutes.map(({ method, path }) => `${method} ${path.replace(/:\w+/g, ':')}`);
    expect(places.filter((place, index) => places.indexOf(place) !== index)).toEqual([]);
    expect(places.filter((place) => !place.includes(' /api/'))).toEqual([]);
  });

  it('refuse unknown fields: every object that a body or a query can hold is strict [F127]', () => {
    const loose = opsRoutes.flatMap(({ method, path, body, query }) =>
      [body, query]
        .filter((schema) => schema !== undefined)
        .flatMap((schema) => looseObjects(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })))
        .map((fields) => `${method} ${path}: ${fields}`),
    );
    // Except Alertmanager's own form: a newer version must not end rollbacks by a field that it adds.
    expect(loose).toEqual([
      'POST /api/rollback-by-alert: version, alerts',
      'POST /api/rollback-by-alert: status, labels, startsAt, fingerprint',
    ]);
  });

  it('never let a viewer change anything', () => {
    const open = opsRoutes.filter(({ method, role }) => method !== 'GET' && method !== 'POST' && role === 'viewer');
    expect(open.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });

  it.each(opsRoutes.map(({ method, path, command }) => ({ row: `${method} ${path}`, command })))(
    '$row has the command `puente $command`',
    ({ command }) => {
      const [name, ...flags] = command.split(' --');
      const found = commands.find((one) => one.name === name);
      expect(found?.name).toBe(name);
      const known = found?.command.options.map(({ long }) => long);
      expect(known).toEqual(expect.arrayContaining(flags.map((flag) => `--${flag}`)));
    },
  );
});

describe('the commands', () => {
  it('do nothing that the API does not offer: each is named by a row, or needs no running Puente [F131]', () => {
    const named = new Set(opsRoutes.map(({ command }) => command.replace(/ --.*/, '')));
    const others = commands.map(({ name }) => name).filter((name) => !named.has(name));
    const alone = [...LOCAL, ...SHORTHANDS].filter((name) => name !== BOTH);
    expect(others.toSorted()).toEqual(alone.toSorted());
  });

  it.each(commands)('$name --help says what it does, with an example', ({ name, command }) => {
    const help = helpOf(command);
    expect(command.description()).not.toBe('');
    expect(help.match(/^Examples?:/gm)).toHaveLength(1);
    expect(help).toContain(`puente ${name}`);
    for (const option of command.options) expect([option.flags, option.description]).not.toContain('');
  });

  it('have examples that they take: known flags, and all that are required', () => {
    for (const { name, command } of commands) {
      const examples = [...helpOf(command).matchAll(/^ {2}(?:\S+: +)?puente (.*)$/gm)].map(([, words]) => words ?? '');
      for (const example of examples.filter((words) => words.startsWith(name))) {
        const own = example.split(/ (?:[|>]|&&)/)[0] ?? '';
        const flags: readonly string[] = own.replace(/(["']).*?\1/g, '').match(/(?<= )--[a-z-]+/g) ?? [];
        const known = command.options.flatMap(({ long }) => long ?? []);
        expect([example, flags.filter((flag) => !known.includes(flag))]).toEqual([example, []]);
        const required = command.options.filter(({ mandatory }) => mandatory).map(({ long }) => long);
        expect([example, required.filter((flag) => !flags.includes(flag ?? ''))]).toEqual([example, []]);
      }
    }
  });

  it('that ask a running Puente print JSON for scripts, and can be told where it is', () => {
    const asking = commands.filter(({ name }) => !LOCAL.includes(name));
    const without = asking.filter(
      ({ command }) => !['--json', '--ops'].every((flag) => command.options.some(({ long }) => long === flag)),
    );
    expect(without.map(({ name }) => name)).toEqual([]);
  });

  it('have their exit codes in the root help', () => {
    const help = helpOf(program);
    for (const code of Object.values(exitCodes)) expect(help).toMatch(new RegExp(`^  ${code}  \\S`, 'm'));
  });
});

describe('the document', () => {
  it('is OpenAPI 3.1 and holds every row, with role and command', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(operations).toHaveLength(opsRoutes.length);
    for (const { method, path, role, command, summary } of opsRoutes) {
      const operation = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
      expect([path, operation]).toEqual([
        path,
        expect.objectContaining({ summary, 'x-puente-role': role, 'x-puente-command': command }),
      ]);
    }
  });

  it('has no reference that leads nowhere', () => {
    const references = referencesIn(document);
    expect(references).toContain('#/components/responses/Refusal');
    expect(references.filter((reference) => follow(reference) === undefined)).toEqual([]);
  });

  it.each(operations)('$method $path declares its parameters, answers and refusals', ({ path, operation }) => {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    expect(inPath.map(({ name }) => name)).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    expect(inPath.every(({ required }) => required)).toBe(true);
    const types = Object.keys(operation.responses['200']?.content ?? {});
    expect(types.length).toBeGreaterThan(0);
    for (const status of ['400', '401', '403', '404', '409', '429', '500']) {
      expect([status, operation.responses[status]?.$ref]).toEqual([status, '#/components/responses/Refusal']);
    }
  });

  it('gives every operation an id of its own', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[a-z]+_\w+$/.test(id))).toEqual([]);
  });

  it('takes schemas as they are sent', () => {
    const row = opsRoute('operator', 'POST /api/trees/:id/leaves', {
      summary: 'A tree.',
      query: z.strictObject({
        since: z.iso.datetime().transform((text) => Date.parse(text)),
        limit: z.coerce.number().default(5),
      }),
      body: z.strictObject({ name: z.string() }),
      answer: z.object({ when: z.date() }),
      command: 'trees',
      run: async () => ({ when: new Date() }),
    });
    const operation = (openApi('1', [row]) as typeof document).paths['/api/trees/{id}/leaves']?.post; // as above
    expect(operation?.parameters).toMatchObject([
      { name: 'id', in: 'path', required: true },
      { name: 'since', in: 'query', required: true, schema: { type: 'string', format: 'date-time' } },
      { name: 'limit', in: 'query', required: false, schema: { type: 'number', default: 5 } },
    ]);
    expect(operation?.requestBody?.content).toMatchObject({
      'application/json': { schema: { properties: { name: { type: 'string' } }, additionalProperties: false } },
    });
  });
});
