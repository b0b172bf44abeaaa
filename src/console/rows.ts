/** All pages and forms of the console, as rows. */
import { board } from './board.ts';
import { merchantForms } from './merchant/forms.ts';
import { merchantLanes, merchantPage } from './merchant/page.ts';
import { noticeForms, noticeList, noticePage } from './notices.ts';
import type { Form, Page } from './visit.ts';

export const pages: readonly Page[] = [board, merchantPage, merchantLanes, noticeList, noticePage];

export const forms: readonly Form[] = [...merchantForms, ...noticeForms];
