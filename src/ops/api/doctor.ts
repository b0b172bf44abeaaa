/** The doctor on the ops door: what promises rest on, each finding with its repair. */

import { z } from 'zod';
import { say } from '../../locales/sentences.ts';
import { examine } from '../doctor/doctor.ts';
import { findingLevels } from '../doctor/finding.ts';
import { type OpsRoute, opsRoute } from './route.ts';

export const doctorRoutes: OpsRoute[] = [
  opsRoute({
    method: 'GET',
    path: '/api/doctor',
    role: 'operator',
    role_note: say('role_note.doctor', {}),
    summary:
      'Settings in force, assumptions, schema, integrity, disk, clock, upstreams, tokens, backups: each finding with its repair.',
    answer: z.object({
      level: z.enum(findingLevels).describe('The worst of the findings.'),
      versions: z.object({ puente: z.string(), node: z.string(), store: z.string() }),
      findings: z.array(
        z.object({ name: z.string(), level: z.enum(findingLevels), says: z.string(), repair: z.string().nullable() }),
      ),
      settings: z.array(
        z.object({
          name: z.string(),
          value: z.string().describe('Secrets say only whether they are set.'),
          source: z.string(),
        }),
      ),
      assumptions: z.array(z.looseObject({ name: z.string(), value: z.string() })),
    }),
    command: 'doctor',
    run: ({ runtime, installation, checkUrl }) =>
      runtime.serial.run('doctor', () => examine(runtime, installation, { checkUrl })),
  }),
];
