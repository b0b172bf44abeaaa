/** The words of charts, in pages and in reports. */

import type { Words } from '../../locales/words.ts';
import type { ChartWords } from './charts.ts';

export function chartWords({ t, number, day }: Words): ChartWords {
  return { t: (text, values) => t(`chart.${text}`, values), number, day };
}
