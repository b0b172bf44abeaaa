/** All pages, forms and files of the console, as rows. */
import { auditPage, incidentPage } from './audit.ts';
import { board } from './board.ts';
import { merchantChartPage } from './charts.ts';
import { merchantForms } from './merchant/forms.ts';
import { merchantLanes, merchantPage } from './merchant/page.ts';
import { noticeForms, noticeList, noticePage } from './notices.ts';
import { assumptionPage, limitationPage } from './register.ts';
import { reportChartPage, reportFile, reportPage } from './reports.ts';
import { tracePage } from './trace.ts';
import type { Download, Form, Page } from './visit.ts';

export const pages: readonly Page[] = [
  board,
  merchantPage,
  merchantLanes,
  merchantChartPage,
  tracePage,
  noticeList,
  noticePage,
  incidentPage,
  reportPage,
  reportChartPage,
  auditPage,
  limitationPage,
  assumptionPage,
];

export const forms: readonly Form[] = [...merchantForms, ...noticeForms];

export const downloads: readonly Download[] = [reportFile];
