/** The words of charts, in pages and in reports. */
import type { ChartWords } from '../chart/charts.ts';
import type { Words } from './words.ts';

export function chartWords({ t, number, day }: Words): ChartWords {
  return { t: (text, values) => t(`chart.${text}`, values), number, day };
}
