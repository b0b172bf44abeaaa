/** Dashboard and alerts name only metrics and labels of the real `/metrics`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { call, DEVICE, POINT, startBench, startReceiver } from '../kit.ts';
import { openForAll } from '../open.ts';
import { HOUSE } from '../run-cli.ts';
import { missing, read } from './kit.ts';

const dashboard = z
  .looseObject({
    uid: z.string(),
    panels: z.array(
      z.looseObject({
        id: z.int(),
        title: z.string(),
        datasource: z.looseObject({ uid: z.string() }),
        targets: z.array(z.looseObject({ expr: z.string() })).min(1),
      }),
    ),
  })
  .parse(JSON.parse(read('deploy/grafana/dashboards/puente.json')));
const alerts = z
  .object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            alert: z.string(),
            expr: z.string(),
            labels: z.object({ severity: z.enum(['page', 'ticket']) }),
            annotations: z.strictObject({ summary: z.string(), action: z.string() }),
          }),
        ),
      }),
    ),
  })
  .parse(parse(read('deploy/prometheus/alerts.yml')))
  .groups.flatMap(({ rules }) => rules);
const expressions = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ from: `panel ${title}`, expr }))),
  ...alerts.map(({ alert, expr }) => ({ from: `alert ${alert}`, expr })),
];
/** Metrics and labels that Prometheus adds. */
const ITS_OWN = { metrics: ['up'], labels: ['job', 'instance', 'le'] };

let page: string;

const bench = openForAll(() => startBench());
beforeAll(async () => {
  const receiver = await startReceiver();
  await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
  await bench.notify('700100200', { notice_url: receiver.url });
  await bench.atTerminal('pay');
  await receiver.waitFor(1);
  await receiver.close();
  page = (await call(`${bench.app.ops_url}/metrics`)).text;
});

describe('dashboard and alerts', () => {
  it('name metrics that there are', () => {
    const known = new Set([...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    for (const { from, expr } of expressions) {
      const names = metricsOf(expr);
      expect(names.length, from).toBeGreaterThan(0);
      for (const name of names) {
        if (ITS_OWN.metrics.includes(name)) continue;
        expect(known.has(name) || known.has(name.replace(/_(?:bucket|sum|count)$/, '')), `${from}: ${name}`).toBe(true);
      }
    }
  });

  it('name labels that those metrics have', () => {
    const samples = [...page.matchAll(/^(\w+)\{([^}]*)\}/gm)];
    const labels = new Set(
      samples.flatMap(([, , text]) => [...(text ?? '').matchAll(/(\w+)="/g)].map(([, one]) => one)),
    );
    for (const { from, expr } of expressions)
      for (const label of labelsOf(expr).filter((one) => !ITS_OWN.labels.includes(one)))
        expect(labels, `${from}: ${label}`).toContain(label);
  });

  it('show every metric of Puente on some panel', () => {
    const shown = dashboard.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsOf(expr))).join(' ');
    for (const [, name] of page.matchAll(/^# TYPE (puente_\S+)/gm)) expect(shown).toContain(name);
  });

  it('ask the data source that is provisioned', () => {
    const { datasources } = parse(read('deploy/grafana/provisioning/datasources/prometheus.yml')) as {
      datasources: { uid: string }[];
    }; // the file's shape
    for (const { title, datasource } of dashboard.panels) expect(datasource.uid, title).toBe(datasources[0]?.uid);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });

  it('are what Prometheus takes', ({ skip }) => {
    const why = missing('promtool');
    skip(why !== null, why ?? '');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', 'prometheus.yml'], {
      cwd: join(HOUSE, 'deploy', 'prometheus'),
      encoding: 'utf8',
    });
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toContain(`${alerts.length} rules found`);
  });

  it('page for a legacy that is dead or slow, and for the first safety stop, and not for shops', ({ skip }) => {
    const why = missing('promtool');
    skip(why !== null, why ?? '');
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', 'alerts.test.yml'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
    });
    expect(status, stdout + stderr).toBe(0);
  });

  it('and the receiver that rolls back is what Alertmanager takes, for alerts of its own severity alone', ({
    skip,
  }) => {
    const why = missing('amtool');
    skip(why !== null, why ?? '');
    const config = join(HOUSE, 'deploy', 'prometheus', 'alertmanager.yml');
    const amtool = (...words: string[]) => spawnSync('amtool', words, { encoding: 'utf8' });
    const { status, stdout, stderr } = amtool('check-config', config);
    expect(status, stdout + stderr).toBe(0);
    const receivers = (severity: string) =>
      amtool('config', 'routes', 'test', `--config.file=${config}`, `severity=${severity}`).stdout.trim();
    expect(receivers('rollback')).toBe('puente,people');
    for (const severity of new Set(alerts.map(({ labels }) => labels.severity)))
      expect(receivers(severity)).toBe('people');
  });
});

/** Names of metrics in a PromQL expression. */
function metricsOf(expr: string): string[] {
  return [...expr.matchAll(/\b(?:puente|process|nodejs)_\w+|\bup\b/g)].map(([name]) => name);
}

function labelsOf(expr: string): string[] {
  const matched = [...expr.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, name]) => name ?? '');
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names]) => (names ?? '').split(/,\s*/));
  return [...matched, ...grouped];
}
