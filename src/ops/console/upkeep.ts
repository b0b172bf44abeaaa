/** Upkeep: the backups, with one made now; and what the doctor finds, each with its repair. */
import { bytesText } from '../../locales/words.ts';
import { code, type Html, html, says, timeOf, withCode } from '../html.ts';
import type { BackupProgress } from '../upkeep/chores.ts';
import type { Form, Page, Visit } from './kit.ts';
import { actForm, badge, hidden, section, table } from './parts.ts';

export const backupPage: Page = {
  path: '/backups',
  async show(visit) {
    const { words } = visit;
    const { t } = words;
    const { backups } = await visit.ask('GET /api/backup');
    const rows = backups.map(({ file, made_at, bytes, heads, schema, sha256 }) => ({
      file: code(file),
      made: timeOf(words, made_at),
      size: bytesText(bytes).replace(' ', '\u00a0'),
      sales: heads.links,
      schema,
      sha256: code(sha256),
    }));
    const content = html`<p class="lead">${withCode(t('backups.lead'))}</p>
${table(words, 'backups', t('backups.title'), rows, t('backups.none'))}
${section('make', t('backups.make'), actForm(visit, '/backups', 'backup-reason', t('backups.go')), t('backups.make_lead'))}`;
    return { title: t('backups.title'), content };
  },
};

/** Answers when the backup is made and proved; a browser that disconnects ends it. */
export const backupForm: Form = {
  path: '/backups',
  page: backupPage,
  async send({ ask, signal }, { reason }) {
    const { parts } = await ask('POST /api/backup', { body: { reason } });
    for await (const line of parts) {
      signal.throwIfAborted();
      const { news } = JSON.parse(line) as BackupProgress; // each part is one line of the API's own news
      if (news === 'done') return '/backups?done=backed_up';
    }
    throw new TypeError('the backup did not end');
  },
};

const LEVEL_BADGES = { ok: 'good', note: 'shadow', warning: 'warn', problem: 'bad' } as const;

/** Checks when asked to: that reads the whole database. */
export const doctorPage: Page = {
  path: '/doctor',
  async show(visit) {
    const { t } = visit.words;
    const content = html`<p class="lead">${withCode(t('doctor.lead'))}</p>
<form class="filters" action="/doctor" method="get">${hidden('check', 'true')}<p><button>${t('doctor.go')}</button></p></form>
${visit.query.check === 'true' ? await findingTable(visit) : null}`;
    return { title: t('doctor.title'), content };
  },
};

async function findingTable({ words, ask }: Visit): Promise<Html> {
  const { t } = words;
  const { level: worst, findings } = await ask('GET /api/doctor');
  const rows = findings.map(({ name, name_said, level, says: what, said, repair, repair_said }) => ({
    name: says(words, name, name_said),
    level: badge(LEVEL_BADGES[level], t(`doctor.level.${level}`)),
    what: says(words, what, said),
    repair: says(words, repair, repair_said),
  }));
  return html`<p>${badge(LEVEL_BADGES[worst], t(`doctor.level.${worst}`))} ${t(`doctor.worst.${worst}`)}</p>
${table(words, 'doctor', t('doctor.title'), rows)}`;
}
