/** All pages and forms of the console, as rows. */
import { board } from './board.ts';
import type { Form, Page } from './visit.ts';

export const pages: readonly Page[] = [board];

export const forms: readonly Form[] = [];
