/** Why a merchant is not green: what blocks, what is not proven, and the next step for each. */
import type { z } from 'zod';
import type { Words } from '../../../locales/words.ts';
import type { finding, readinessView } from '../../api/readiness.ts';
import { type Content, type Html, html } from '../html.ts';
import { badge, section, timeOf } from '../parts.ts';
import { says } from '../says.ts';

type Finding = z.infer<typeof finding>;
type Readiness = z.infer<typeof readinessView>;

/** Where the page itself has what a finding is about. */
const PLACES: Readonly<Partial<Record<string, string>>> = {
  open_difference: '#differences',
  error_difference: '#differences',
  never_seen: '#coverage',
  too_few_calls: '#coverage',
  not_used: '#coverage',
  in_doubt: '#lanes',
  safety_stop: '#safety',
};

export function readiness(words: Words, { verdict, blockers, unproven, remarks, judged_at }: Readiness): Html {
  const { t } = words;
  const part = (key: string, findings: readonly Finding[], kind: string): Content =>
    findings.length === 0 ? null : html`<h3>${t(key)}</h3>${findingList(words, findings, kind)}`;
  const content = html`<p>${badge(verdict, t(`verdict.${verdict}`))} ${t(`readiness.${verdict}`)} <span class="small">${timeOf(words, judged_at)}</span></p>
${part('readiness.blockers', blockers, 'blocked')}
${part('readiness.unproven', unproven, 'unproven')}
${remarks.length === 0 ? '' : html`<details><summary>${t('readiness.remarks', { count: remarks.length })}</summary>${findingList(words, remarks, 'remark')}</details>`}`;
  return section('readiness', t('merchant.why'), content);
}

/** Each with its name, the API's sentence, and what shows, mends or proves it. */
export function findingList(words: Words, findings: readonly Finding[], kind: string): Html {
  const items = findings.map(
    (one) =>
      html`<li class="${kind}"><strong>${words.t(`finding.${one.code}`)}</strong><br>${says(words, one.what, one.said)}${nextStep(words, one)}</li>`,
  );
  return html`<ul class="findings">${items}</ul>`;
}

function nextStep({ t }: Words, { code, command, sample }: Finding): Content {
  const place = PLACES[code];
  const steps = [
    command === null ? null : html`<code>${command}</code>`,
    place === undefined ? null : html`<a href="${place}">${t('finding.here')}</a>`,
    sample === null ? null : html`<a href="/trace?id=${encodeURIComponent(sample)}">${t('finding.sample')}</a>`,
  ].filter((one) => one !== null);
  return steps.length === 0
    ? null
    : html`<br><span class="small">${t('finding.next')}</span> ${steps.map((one) => html`${one} `)}`;
}
