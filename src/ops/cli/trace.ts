/** `puente trace`: one sale in one story, by whatever id somebody has. */
import type { Command } from 'commander';
import type { SaleView, Trace } from '../trace/trace.ts';
import { callOps } from './ops-client.ts';
import { common, type Output, oneLine, print, tableOf } from './output.ts';

export function addTraceCommands(program: Command): void {
  common(program.command('trace <id>').description('one sale in one story: till calls, rules, states, notices, losses'))
    .option('--merchant <id>', 'look at this merchant alone, where a reference is used by many')
    .option('--rules', 'show the table rows that fired, with their reasons')
    .addHelpText(
      'after',
      `
The id may be a legacy id, an order, payment, merchant order or refund, a till's reference, a notice or an exchange.

Example:
  puente trace 0199d2a5-6c1e-7b7e-8f43-0d6f2a6f9f10
  puente trace sale-1 --merchant 700100200 --rules`,
    )
    .action(async (id: string, options: Output & { merchant?: string; rules?: boolean }) => {
      const query = new URLSearchParams({
        id,
        ...(options.merchant === undefined ? {} : { merchant: options.merchant }),
      });
      const { traces } = (await callOps(options, 'GET', `/api/trace?${query}`)) as { traces: Trace[] }; // the API's own shape
      print(options, traces, traces.map((trace) => storyText(trace, options.rules === true)).join('\n\n'));
    });
}

function storyText(trace: Trace, with_rules: boolean): string {
  const steps = tableOf(
    ['at', 'kind', 'what'],
    trace.steps.map(({ at, kind, what }) => [at, kind, oneLine(what)]),
  );
  const rules = trace.rules.map(({ row, says, why }) => `  ${row}: ${says}\n    ${why}`).join('\n');
  const changed = trace.tables_changed ? ' (the tables have changed since)' : '';
  const counted = `${trace.rules.length} table rows fired${changed}`;
  return [
    trace.sale === null ? `Found as ${trace.found_as}` : headOf(trace.sale, trace.found_as),
    trace.promise,
    steps,
    with_rules ? `${counted}:\n${rules}` : `${counted}; --rules shows them.`,
  ].join('\n');
}

function headOf(sale: SaleView, found_as: string): string {
  const amount = sale.amount === null ? 'amount not known here' : `${sale.amount} ${sale.currency}`;
  const facts: [string, string | number | null][] = [
    ['legacy id', sale.legacy_id],
    ['order', sale.order_id],
    ['payment', sale.payment_id],
    ['merchant order', sale.merchant_order_id],
    ["till's reference", sale.client_reference],
    ['reference sent', sale.reference_sent],
    ['tables', sale.tables_revision],
  ];
  const known = facts
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `  ${name}: ${oneLine(String(value))}`);
  return [
    `Found as ${found_as}: merchant ${sale.merchant}, ${sale.family} ${sale.unit}, ${amount}, born on ${sale.lane} at ${sale.born_at}`,
    `  state: ${sale.state}${sale.legacy_state === null ? '' : `, the till sees ${sale.legacy_state}`}${sale.ends_at === null ? '' : `, latest end ${sale.ends_at}`}`,
    ...known,
  ].join('\n');
}
