/** The words of the charts in reports, which are English; the console has its own in each of its languages. */
import type { ChartText, ChartWords } from '../../chart/charts.ts';

type Values = Record<string, string | number>;

const texts: Readonly<Record<ChartText, string | ((values: Values) => string)>> = {
  none: 'Nothing to show in this period.',
  day: 'day',
  calls: 'calls',
  legacy: 'legacy',
  orders: 'orders',
  faults: 'faults on orders',
  'traffic.title': 'Calls by lane over time',
  'traffic.summary': ({ legacy, orders, faults, since, until }) =>
    `${legacy} on legacy, ${orders} on orders, of which ${faults} faults, from ${since} to ${until}.`,
  'waits.title': 'How long tills waited, by lane',
  'waits.summary': ({ legacy, orders }) =>
    `Shares of ${legacy} calls on legacy and of ${orders} on orders, by milliseconds.`,
  'waits.unit': '% of the calls of a lane, by ms',
  'waits.range': 'waited, ms',
  'losses.title': 'Losses by field',
  'losses.summary': ({ more }) => (more === 0 ? 'Money first.' : `Money first; ${more} more fields are in the table.`),
  'losses.field': 'field',
  'losses.real': 'lost',
  'losses.paper': 'on paper',
  'notices.title': 'Delivery of notices over time',
  'notices.summary': ({ delivered, made }) => `${delivered} of ${made} are delivered.`,
  'notices.unit': 'notices, by the day they were made',
  'notices.delivered': 'delivered',
  'notices.waiting': 'waiting',
  'notices.stuck': 'stuck',
  'notices.dead': 'given up',
  'readiness.title': 'Readiness over time',
  'readiness.summary': ({ ready, inconclusive, blocked }) =>
    `In the last column ${ready} ready, ${inconclusive} inconclusive, ${blocked} blocked.`,
  'readiness.unit': 'merchants',
  'readiness.ready': 'ready',
  'readiness.inconclusive': 'inconclusive',
  'readiness.blocked': 'blocked',
};

export const english: ChartWords = {
  t(text, values = {}) {
    const found = texts[text];
    return typeof found === 'string' ? found : found(values);
  },
  number: String,
};
