/** The lists of a report as HTML tables. */
import { factText } from './fact-text.ts';
import type { Report } from './report.ts';
import { type Html, htmlTable } from './tags.ts';

export function lossTable({ losses }: Report): Html {
  return htmlTable(
    ['Weight', 'Operation', 'Field', 'Lost', 'On paper', 'Why', "For the till's maker"],
    losses.map((one) => [one.weight, one.operation, one.path, one.count, one.would_be_count, one.why, one.advice]),
  );
}

export function differenceTable({ differences }: Report): Html {
  return htmlTable(
    ['Merchant', 'Operation', 'What', 'Legacy', 'Orders', 'State', 'Calls', 'Last'],
    differences.map((one) => [
      one.merchant_id,
      one.operation,
      one.path === '' ? one.what : `${one.what} ${one.path}`,
      one.legacy,
      one.orders,
      one.state,
      one.count,
      one.last_at,
    ]),
  );
}

export function shadowTable({ shadow }: Report): Html {
  return htmlTable(
    ['Operation', 'Verdict', 'Code', 'The till would be told', 'Calls'],
    shadow.map((one) => [one.operation, one.verdict, one.code ?? '', one.error ?? '', one.count]),
  );
}

export function noticeTable({ notices }: Report): Html {
  return htmlTable(
    ['Topic', 'Made', 'Delivered', 'Retried', 'Waiting', 'Stuck', 'Given up'],
    notices.map((one) => [one.topic, one.made, one.delivered, one.retried, one.pending, one.stuck, one.dead]),
  );
}

export function lineTable(lines: Report['decisions']): Html {
  return htmlTable(
    ['At', 'Who', 'What', 'Of', 'Why', 'Before', 'After', 'Evidence', 'Line'],
    lines.map((one) => [
      one.at,
      one.who,
      one.action,
      one.subject,
      one.reason,
      factText(one.before),
      factText(one.after),
      factText(one.evidence),
      one.sequence,
    ]),
  );
}

export function limitationTable({ limitations }: Report): Html {
  return htmlTable(
    ['Number', 'What', 'Effect', 'Way around', 'Hits', 'Calls'],
    limitations
      .filter(({ hits }) => hits !== null)
      .map((one) => [one.id, one.title, one.effect, one.workaround, one.hits ?? 0, one.calls]),
  );
}

/** What tills may have met without anybody seeing it. */
export function unseenTable({ limitations }: Report): Html {
  return htmlTable(
    ['Number', 'What', 'Effect', 'Way around', 'Why it is not counted', 'Calls'],
    limitations
      .filter(({ hits }) => hits === null)
      .map((one) => [one.id, one.title, one.effect, one.workaround, one.unseen ?? '', one.calls]),
  );
}

export function assumptionTable({ assumptions }: Report): Html {
  return htmlTable(
    ['Setting', 'Value', 'What it is for'],
    assumptions.map((one) => [one.name, one.value, one.sentence]),
  );
}
