/** `compose.yaml` and the image without Docker: mounts exist, variables are settings, and Puente starts with them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '../../src/config/config.ts';
import { HOUSE } from '../run-cli.ts';
import { read, unknownVariables, usualOptions } from './kit.ts';

const service = z.strictObject({
  image: z.string(),
  build: z.string().optional(),
  profiles: z.array(z.enum(['pair', 'metrics'])).optional(),
  restart: z.literal('unless-stopped'),
  environment: z.record(z.string(), z.string()).optional(),
  env_file: z.array(z.strictObject({ path: z.string(), required: z.boolean() })).optional(),
  depends_on: z
    .union([z.array(z.string()), z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') }))])
    .optional(),
  ports: z
    .array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/, 'published on the loopback of the machine alone'))
    .optional(),
  volumes: z.array(z.string()).optional(),
  healthcheck: z
    .strictObject({ test: z.array(z.string()), interval: z.string(), timeout: z.string(), retries: z.int() })
    .optional(),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  ulimits: z.strictObject({ core: z.literal(0) }).optional(),
});
const file = z.looseObject({ services: z.record(z.string(), service), volumes: z.record(z.string(), z.null()) });
/** Variables of the shell that runs `docker compose`. */
const SHELL: Record<string, string> = {
  PUENTE_OPS_TOKEN: 'a-token-of-the-tests',
  PUENTE_POSTGRES_PASSWORD: 'a-password-of-the-tests',
};

const compose = file.parse(parse(read('compose.yaml'), { merge: true }));
const services = Object.entries(compose.services);

describe('compose.yaml', () => {
  it('names services, volumes and files that are there', () => {
    for (const [name, { depends_on, volumes = [], build }] of services) {
      for (const other of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on ?? {}))
        expect(Object.keys(compose.services), name).toContain(other);
      for (const volume of volumes) {
        const from = volume.split(':')[0] ?? '';
        if (from.startsWith('.')) expect(existsSync(join(HOUSE, from)), `${name} mounts ${from}`).toBe(true);
        else expect(Object.keys(compose.volumes), name).toContain(from);
      }
      if (build !== undefined) expect(existsSync(join(HOUSE, build, 'Dockerfile'))).toBe(true);
    }
  });

  it('pins each image of others to a version', () => {
    for (const [name, { image, build }] of services)
      if (build === undefined) expect(image, name).toMatch(/:v?\d+(?:\.\d+)*(?:-alpine)?$/);
  });

  it('publishes no port twice', () => {
    const ports = services.flatMap(([, one]) => one.ports ?? []).map((port) => port.split(':')[1]);
    expect(new Set(ports).size).toBe(ports.length);
  });

  it.each(['puente', 'puente-1', 'puente-2'])('%s is started with settings that hold', (name) => {
    const written = compose.services[name]?.environment ?? {};
    expect(unknownVariables(Object.keys(written))).toEqual([]);
    const env = Object.fromEntries(Object.entries(written).map(([key, value]) => [key, interpolated(value)]));
    const config = loadConfig({ env: { ...fileSettings(name), ...env }, cwd: HOUSE });
    expect(config.ops.hosts, 'Prometheus asks by this name').toContain(name);
    expect(config.upstream === 'sandbox', 'the sandbox lives in one process').toBe(name === 'puente');
    const { farewell_ms, grace_ms } = config.shutdown;
    const grace = Number.parseInt(compose.services[name]?.stop_grace_period ?? '', 10) * 1_000;
    expect(grace, 'Docker waits until calls have ended').toBeGreaterThan(farewell_ms + grace_ms);
  });

  it('asks for no token or password in clear', () => {
    expect(read('compose.yaml')).not.toMatch(/(?:TOKEN|PASSWORD|SECRET\w*|KEY): (?!\$\{\w+:-\})\S/);
  });
});

describe('puente.env.example', () => {
  it('names settings alone, and leaves secrets empty', () => {
    const lines = read('deploy/puente.env.example')
      .split('\n')
      .filter((line) => /^\w/.test(line));
    expect(unknownVariables(lines.map((line) => line.split('=')[0] ?? ''))).toEqual([]);
    for (const line of lines.filter((one) => /SECRET|TOKEN|PASSWORD/.test(one))) expect(line).toMatch(/=$/);
  });
});

describe('the image', () => {
  const image = read('Dockerfile');

  it('copies files that are there and that the builder is sent', () => {
    const sent = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    const copied = [...image.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names]) => (names ?? '').split(' '));
    expect(copied.length).toBeGreaterThan(0);
    for (const name of copied) {
      expect(existsSync(join(HOUSE, name)), name).toBe(true);
      expect(sent).toContain(`!${name}`);
    }
  });

  it('has one base for both stages, by digest, with the Node that the tests run on', () => {
    const [, version] = /^ARG NODE_IMAGE=node:([\d.]+)-bookworm-slim@sha256:[\da-f]{64}$/m.exec(image) ?? [];
    expect(`v${version}`).toBe(process.version);
    const bases = image.match(/^FROM .*$/gm) ?? [];
    expect(bases.map((line) => /^FROM \$\{NODE_IMAGE\}/.test(line))).toEqual([true, true]);
  });

  it('has production libraries alone', () => {
    expect(image).toMatch(/^RUN npm ci --omit=dev$/m);
  });

  it('runs Node as `npm start` does', () => {
    const command = JSON.parse(/^CMD (\[.+\])$/m.exec(image)?.[1] ?? '[]') as string[]; // an exec form is JSON
    expect(command).toEqual(['node', ...usualOptions(), 'src/main.ts']);
  });
});

/** `${NAME:-default}` is the only form that the file uses. */
function interpolated(text: string): string {
  return text.replaceAll(/\$\{(\w+):-([^}]*)\}/g, (_, name: string, otherwise: string) => SHELL[name] ?? otherwise);
}

/** Variables of the service's env files; for puente.env, which each installation writes, the required ones. */
function fileSettings(name: string): Record<string, string> {
  const files = (compose.services[name]?.env_file ?? []).filter(({ required }) => required);
  const lines = files.flatMap(({ path }) => read(path).split('\n')).filter((line) => /^\w/.test(line));
  const written = Object.fromEntries(lines.map((line) => line.split('=', 2)));
  return { ...written, ...(name === 'puente' ? {} : { PUENTE_SECRET_KEY: 'a key of the tests that is long enough' }) };
}
