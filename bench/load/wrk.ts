/** wrk as the load generator, where installed: fast enough never to be the bottleneck. Only for repeatable requests. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { caseOf } from '../cases/cases.ts';
import type { BenchRequest } from '../cases/requests.ts';
import { TASKSET } from '../machine.ts';
import type { LoadPlan, LoadResult } from './load.ts';

interface Told {
  requests: number;
  duration_us: number;
  p50_us: number;
  p99_us: number;
  p999_us: number;
  bad_statuses: number;
  broken: number;
}

/**
 * wrk cuts off requests in flight at its end and reads only the status of answers, so the caller checks some answers
 * with the other generator first.
 * @param core null leaves it to the system.
 * @throws Error with wrk's output when it fails.
 */
export async function runWrk(plan: LoadPlan, core: number | null, directory: string): Promise<LoadResult> {
  const bench = caseOf(plan.case_name);
  const targets = plan.targets.length === 0 ? [''] : plan.targets;
  const file = join(directory, 'wrk.lua');
  writeFileSync(file, script(targets.map((target) => bench.request(plan.first, target))));
  const wrk = [
    'wrk',
    '-t1',
    `-c${plan.in_flight}`,
    `-d${Math.max(1, Math.round(plan.duration_ms / 1000))}s`,
    '-s',
    file,
    plan.url,
  ];
  const text = await output(core === null ? wrk : [TASKSET, '-c', String(core), ...wrk]);
  const told = JSON.parse(/^told (.*)$/m.exec(text)?.[1] ?? 'null') as Told | null; // printed by the script below
  if (told === null) throw new Error(`wrk said nothing: ${text}`);
  const faults: string[] = [];
  if (told.bad_statuses > 0) faults.push(`${told.bad_statuses} answers were not 2xx`);
  if (told.broken > 0) faults.push(`${told.broken} connections broke`);
  return {
    sent: told.requests,
    succeeded: told.requests - told.bad_statuses,
    per_second: told.requests / (told.duration_us / 1e6),
    p50_ms: told.p50_us / 1000,
    p99_ms: told.p99_us / 1000,
    p999_ms: told.p999_us / 1000,
    faults,
  };
}

/** Sends the requests in turn. wrk reconnects after `Connection: close`. */
function script(requests: readonly BenchRequest[]): string {
  const list = requests.map(({ method, path, headers, body }) => {
    const lines = Object.entries(headers).map(([name, value]) => `["${name}"]=[[${value}]]`);
    return `wrk.format("${method}", [[${path}]], {${lines.join(', ')}}, ${body === '' ? 'nil' : `[[${body}]]`})`;
  });
  return `local requests = {}
local at = 0
function init()
  requests = {
${list.join(',\n')}
  }
end
function request()
  at = at + 1
  return requests[at % #requests + 1]
end
function done(summary, latency)
  io.write(string.format('told {"requests":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"p999_us":%d,"bad_statuses":%d,"broken":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    summary.errors.status, summary.errors.connect + summary.errors.timeout))
end
`;
}

function output([command = '', ...rest]: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('error', reject);
    child.once('close', (status) => {
      const text = Buffer.concat(chunks).toString('utf8');
      if (status === 0) resolve(text);
      else reject(new Error(`wrk failed (${status}): ${text}`));
    });
  });
}
