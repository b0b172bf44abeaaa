/** How a limitation is counted, in one phrase for people. */
import type { Counted, LimitationCondition } from './limitations.ts';

/** Names stand as the tables and catalogues have them. */
export function countedText(counted: Counted): string {
  if ('unseen' in counted) return `not counted: ${counted.unseen}`;
  if ('notices' in counted) {
    const agent = counted.agent === undefined ? '' : ` while \`notices.user_agent\` is \`${counted.agent}\``;
    return `delivered notices in the form \`${counted.notices}\`${agent}`;
  }
  return counted.map(conditionText).join('; or ');
}

function conditionText(condition: LimitationCondition): string {
  const { ok, errors, rows, without, losses, upstream, unasked, noted } = condition;
  const calls = (upstream ?? []).map(({ name, status, codes }) =>
    ['asked', name, status, codes === undefined ? undefined : `(${anyOf(codes)})`].filter(Boolean).join(' '),
  );
  return [
    ...(ok === undefined ? [] : [ok ? 'answered 2xx' : 'not answered 2xx']),
    ...(errors === undefined ? [] : [`told ${anyOf(errors)}`]),
    ...(rows === undefined ? [] : [`the row ${anyOf(rows)} fired`]),
    ...(without === undefined ? [] : [`the row ${anyOf(without)} did not fire`]),
    ...(losses === undefined ? [] : [`lost ${anyOf(losses)}`]),
    ...calls,
    ...(unasked === undefined ? [] : [`without asking ${anyOf(unasked)}`]),
    ...(noted === undefined ? [] : ['seen by the code that did it']),
  ].join(', ');
}

function anyOf(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(' or ');
}
