/**
 * The chart of deploy/helm without Helm: what can be said of its files as they are. Rendering is Helm's own, and is not
 * done here; README.md of the chart says so.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '../../src/config/config.ts';
import { HOUSE } from '../run-cli.ts';
import { read, unknownVariables } from './kit.ts';

const CHART = 'deploy/helm';
const values = parse(read(`${CHART}/values.yaml`)) as Record<string, unknown>; // checked by its schema below
const templates = readdirSync(join(HOUSE, CHART, 'templates')).map((name) => read(`${CHART}/templates/${name}`));
const all = templates.join('\n');
const schema = z.fromJSONSchema(JSON.parse(read(`${CHART}/values.schema.json`)));

describe('values', () => {
  it('are what the schema allows', () => {
    expect(schema.safeParse(values).error?.issues ?? []).toEqual([]);
  });

  it.each([
    ['another name', { ...values, replica: 2 }],
    ['no replica', { ...values, replicas: 0 }],
    ['a digest that is none', { ...values, image: { repository: 'puente', digest: 'latest' } }],
    ['no name of the secret', { ...values, secret: { name: '', secretKey: 'secret-key' } }],
  ])('with %s are refused', (_what, wrong) => {
    expect(schema.safeParse(wrong).success).toBe(false);
  });

  it.each([
    { ops: { hosts: ['ops.example'] } },
    { ops: { host: '10.0.0.8' } },
    { ops: { port: 9081 } },
    { public: { url: 'https://puente.shop.example', port: 443 } },
    { data_dir: '/data' },
    { mappings: { folder: '/tables' } },
    { health: { port: 9083 } },
    { shutdown: { farewell_ms: 20_000 } },
    { secret_key: 'k'.repeat(32) },
    { ops: { token: 't'.repeat(32) } },
    { ops: { tokens: { ana: { role: 'viewer', token: 't'.repeat(32) } } } },
    { webhook: { secret: 'hush' } },
    { postgres: { url: 'postgres://puente:hush@db.example/puente' } },
    { alerts: { receivers: { ops: { url: 'https://ops.example/hush' } } } },
  ])('with a secret, or a setting whose variable the chart sets, are refused: %j', (settings) => {
    const given = (added: object) => ({ ...values, settings: { ...(values.settings as object), ...added } }); // by the schema
    expect(schema.safeParse(given({ shutdown: { grace_ms: 9_000 } })).success).toBe(true);
    expect(schema.safeParse(given(settings)).success).toBe(false);
  });

  it('hold a configuration that Puente takes', () => {
    const { settings } = z
      .object({ settings: z.record(z.string(), z.record(z.string(), z.unknown()).or(z.string())) })
      .parse(values);
    const env = Object.entries(settings).flatMap(([name, value]) =>
      typeof value === 'string'
        ? [[`PUENTE_${name.toUpperCase()}`, value]]
        : Object.entries(value).map(([inner, text]) => [`PUENTE_${name}_${inner}`.toUpperCase(), String(text)]),
    );
    const loaded = loadConfig({ env: { ...Object.fromEntries(env), PUENTE_SECRET_KEY: 'k'.repeat(32) }, cwd: HOUSE });
    expect(loaded.upstream).toBe('https://api.mercadopago.com');
  });
});

describe('templates', () => {
  it('use values that there are, and each of them', () => {
    const used = new Set([...all.matchAll(/\.Values\.([\w.]+)/g)].map(([, path]) => path ?? ''));
    const there = Object.entries(values).flatMap(([name, value]) =>
      ['image', 'secret', 'ops', 'tables', 'tls', 'persistence', 'service'].includes(name)
        ? Object.keys(z.record(z.string(), z.unknown()).parse(value)).map((inner) => `${name}.${inner}`)
        : [name],
    );
    expect([...used].sort()).toEqual(there.sort());
  });

  it('close what they open', () => {
    for (const text of templates) {
      const opened = text.match(/\{\{-? (?:if|with|range) /g)?.length ?? 0;
      expect(text.match(/\{\{-? end \}\}/g)?.length ?? 0).toBe(opened);
      expect(text.match(/\{\{/g)?.length).toBe(text.match(/\}\}/g)?.length);
    }
  });

  it('set variables that are settings, and keep those of Kubernetes out', () => {
    const names = [...all.matchAll(/name: (PUENTE_\w+)/g)].map(([, name]) => name ?? '');
    expect(names.length).toBeGreaterThan(10);
    expect(unknownVariables(names)).toEqual([]);
    expect(all).toContain('enableServiceLinks: false');
  });

  it('probe the port for probes alone, and wait until calls have ended', () => {
    const probes = [...all.matchAll(/httpGet: \{ path: (\S+), port: (\w+) \}/g)].map(
      ([, path, port]) => `${path} ${port}`,
    );
    expect(probes).toEqual(['/healthz health', '/healthz health', '/readyz health']);
    const port = /PUENTE_HEALTH_PORT, value: "(\d+)"/.exec(all)?.[1] ?? 'none';
    expect(all).toContain(`{ name: health, containerPort: ${port} }`);
    const farewell_ms = Number(/PUENTE_SHUTDOWN_FAREWELL_MS, value: "(\d+)"/.exec(all)?.[1]);
    const { grace_ms } = loadConfig({ env: {}, cwd: HOUSE }).shutdown;
    const wait_ms = Number(/terminationGracePeriodSeconds: (\d+)/.exec(all)?.[1]) * 1_000;
    expect(wait_ms).toBeGreaterThan(farewell_ms + grace_ms);
  });

  it('mount secrets for the group of the process alone, as Puente asks for', () => {
    expect(all.match(/secretName: [^}]*\}\}, defaultMode: 0440 \}/g)).toHaveLength(2);
    expect(all).toContain('fsGroup: 1000');
  });

  it('ask for the public URL, which no default can know, and for a server where several processes run', () => {
    expect(values).toMatchObject({ settings: { public: { url: '' } } });
    expect(all).toMatch(/required "settings\.public\.url: [^"]+" \(dig "public" "url" "" \.Values\.settings\)/);
    expect(all).toMatch(
      /if and \(gt \(int \.Values\.replicas\) 1\) \(not \.Values\.secret\.postgresUrl\) \}\}\n\{\{- fail "replicas: /,
    );
  });

  it('keep operators at a Pod that is not ready, and take one of several Pods at a time', () => {
    const parts = all.split(/^---$/m);
    const ops = parts.filter((part) => part.includes('publishNotReadyAddresses: true'));
    expect(ops.map((part) => /^ {2}name: (.*)$/m.exec(part)?.[1])).toEqual(['{{ .Release.Name }}-ops']);
    expect(all).toMatch(
      /\{\{- if gt \(int \.Values\.replicas\) 1 \}\}\n---\n(?:#.*\n)?apiVersion: policy\/v1\nkind: PodDisruptionBudget\n/,
    );
    expect(all).toContain('maxUnavailable: 1');
  });

  it('take further names of the ops door, and tables of one’s own from a ConfigMap, file by file', () => {
    expect(all).toMatch(
      /PUENTE_OPS_HOSTS, value: "[^"]*\.svc\.cluster\.local\{\{ range \.Values\.ops\.hosts \}\},\{\{ \. \}\}\{\{ end \}\}" \}/,
    );
    const mounted = /PUENTE_MAPPINGS_FOLDER, value: (\S+) /.exec(all)?.[1];
    expect(all).toContain(`{ name: tables, mountPath: ${mounted}, readOnly: true }`);
    expect(all).toContain(
      '{{- if and .Values.tables.configMap (not .Values.tables.files) }}\n{{- fail "tables.files: ',
    );
    const isTaken = (file: string): boolean =>
      schema.safeParse({ ...values, tables: { configMap: 'tables', files: { one: file } } }).success;
    expect(['point/create.request.yaml', 'merchants/700100200/qr_v1/errors.yaml'].every(isTaken)).toBe(true);
    expect(['create.request.yaml', '../point/create.request.yaml', 'point/create.yml'].some(isTaken)).toBe(false);
  });

  it('are moved to a server by a Pod with the same files, user and claim, which README.md has', () => {
    const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(read(`${CHART}/README.md`)) ?? [];
    const { spec } = parse(text) as { spec: Record<string, unknown> & { containers: Record<string, unknown>[] } }; // the block above
    const [{ command, env, volumeMounts } = {}] = spec.containers;
    const names = (env as { name: string; value: string }[]).map(({ name }) => name);
    expect(unknownVariables(names)).toEqual([]);
    for (const { name, mountPath } of volumeMounts as { name: string; mountPath: string }[])
      expect(all).toContain(`{ name: ${name}, mountPath: ${mountPath}`);
    for (const [key, value] of Object.entries(spec.securityContext as object))
      expect(all).toContain(`${key}: ${value}`);
    expect(JSON.stringify(spec.volumes)).toContain('"claimName":"data-puente-0"');
    expect(command).toEqual('node src/cli.ts migrate-store --from sqlite --to postgres'.split(' '));
  });

  it('name the version of Puente', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string }; // our file
    expect(parse(read(`${CHART}/Chart.yaml`))).toMatchObject({ apiVersion: 'v2', appVersion: version });
  });
});
