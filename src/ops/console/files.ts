/** The files that pages need, served from this process: style sheet, htmx and icon; nothing is fetched from elsewhere. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { RequestHandler } from 'express';
import { PuenteError } from '../../error.ts';
import { pageRefusals } from '../api/errors.ts';
import { CHART_STYLE } from '../charts/charts.ts';

export interface ConsoleFiles {
  /** Paths of the files, each with a mark of its content, so that browsers may keep them for ever. */
  style: string;
  script: string;
  icon: string;
  /** Serves them to anybody: they say nothing of the installation. */
  handler: RequestHandler;
}

const require = createRequire(import.meta.filename);

/** Sent as one, in this order. */
const SHEETS = [
  'colours.css',
  'ground.css',
  'forms.css',
  'pieces.css',
  'badges.css',
  'story.css',
  'charts.css',
  'media.css',
];

interface Kept {
  path: string;
  type: string;
  bytes: Buffer;
}

export function consoleFiles(): ConsoleFiles {
  const htmx = require.resolve('htmx.org/dist/htmx.min.js');
  const sheets = SHEETS.map((name) => readFileSync(join(import.meta.dirname, name)));
  const style = kept('console', 'css', 'text/css', Buffer.from(String(CHART_STYLE)), ...sheets);
  const icon = kept('puente', 'svg', 'image/svg+xml', readFileSync(join(import.meta.dirname, 'puente.svg')));
  const script = kept('htmx', 'js', 'text/javascript', readFileSync(htmx));
  const files = new Map([style, script, icon].map((file) => [file.path, file]));
  return {
    style: style.path,
    script: script.path,
    icon: icon.path,
    handler: (request, response) => {
      const file = files.get(request.path);
      if (file === undefined) throw new PuenteError('not_found', pageRefusals.no_file);
      response.set('Cache-Control', 'public, max-age=31536000, immutable');
      response.type(`${file.type}; charset=utf-8`).send(file.bytes);
    },
  };
}

function kept(name: string, extension: string, type: string, ...parts: Buffer[]): Kept {
  const bytes = Buffer.concat(parts);
  const mark = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  return { path: `/files/${name}.${mark}.${extension}`, type, bytes };
}
