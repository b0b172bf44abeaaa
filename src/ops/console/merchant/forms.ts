/** What operators do on the merchant page: each form is one operation of the API. */
import { z } from 'zod';
import { moveView } from '../../api/stage.ts';
import { type Fields, type Form, merchantPath, type Visit } from '../visit.ts';
import { merchantPage } from './page.ts';
import { targetIn } from './stage.ts';

const DONE = z.unknown();

const move: Form = {
  path: '/merchants/:id/stage',
  page: merchantPage,
  async send(visit, fields) {
    const id = idOf(visit);
    const body = { ...targetOf(visit, fields), reason: fields.reason, revision: Number(fields.revision) };
    const { result } = await visit.ask('PUT /api/merchants/:id/stage', moveView, { path: { id }, body });
    return done(visit, result);
  },
};

const rollBack: Form = {
  path: '/merchants/:id/rollback',
  page: merchantPage,
  async send(visit, { reason }) {
    await visit.ask('POST /api/merchants/:id/rollback', DONE, { path: { id: idOf(visit) }, body: { reason } });
    return done(visit, 'rolled_back');
  },
};

const resetStop: Form = {
  path: '/merchants/:id/safety',
  page: merchantPage,
  async send(visit, { kind, reason, revision }) {
    const body = { kind, reason, revision: Number(revision) };
    await visit.ask('POST /api/merchants/:id/safety/reset', DONE, { path: { id: idOf(visit) }, body });
    return done(visit, 'reset');
  },
};

const judge: Form = {
  path: '/merchants/:id/differences/:signature',
  page: merchantPage,
  async send(visit, { state, until = '', note, revision }) {
    const accepted_until = state === 'accepted' && until !== '' ? `${until}T00:00:00Z` : null;
    await visit.ask('PUT /api/differences/:merchant/:signature', DONE, {
      path: { merchant: idOf(visit), signature: visit.path.signature ?? '' },
      body: { state, accepted_until, note, revision: Number(revision) },
    });
    return done(visit, 'judged');
  },
};

const approve: Form = {
  path: '/merchants/:id/moves/:move/approve',
  page: merchantPage,
  async send(visit, { reason }) {
    await visit.ask('POST /api/moves/:id/approve', DONE, { path: { id: visit.path.move ?? '' }, body: { reason } });
    return done(visit, 'approved');
  },
};

const decline: Form = {
  path: '/merchants/:id/moves/:move/decline',
  page: merchantPage,
  async send(visit, { reason }) {
    await visit.ask('POST /api/moves/:id/decline', DONE, { path: { id: visit.path.move ?? '' }, body: { reason } });
    return done(visit, 'declined');
  },
};

export const merchantForms: readonly Form[] = [move, rollBack, resetStop, judge, approve, decline];

/** The body of a move, of the same fields as its preview. */
function targetOf({ query }: Visit, sent: Fields): Record<string, unknown> {
  const { stage, share, kind, units_in, units_out, override } = targetIn({ query, sent });
  return {
    stage: stage === 'follow' ? null : stage,
    ...(share === undefined ? {} : { share: Number(share) }),
    ...(kind === undefined ? {} : { kind }),
    ...(units_in === undefined ? {} : { units_in: slotsOf(units_in) }),
    ...(units_out === undefined ? {} : { units_out: slotsOf(units_out) }),
    override: override === 'true',
  };
}

function slotsOf(text: string): string[] {
  return text
    .split(',')
    .map((slot) => slot.trim())
    .filter((slot) => slot !== '');
}

function idOf({ path }: Visit): string {
  return path.id ?? '';
}

function done(visit: Visit, what: string): string {
  return `${merchantPath(idOf(visit))}?done=${what}`;
}
