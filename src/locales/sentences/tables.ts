/** What tables do and lose, in English: a row in words, what the maker of a till is told of a field that is lost, and lines of two reports. */
import type { Sentence } from '../../error.ts';
import { times } from './facts.ts';

/** Values of lines that two reports have, beside one another. */
const comparedSentences = {
  'compared.difference': ({ state, count }: { state: string; count: number }) => `${state}, ${count}`,
  'compared.merchant': (facts: {
    stage: string;
    /** Null but on canary. */
    share: number | null;
    stopped: boolean;
    verdict: string;
    blockers: number;
  }) =>
    `${facts.stage}${facts.share === null ? '' : ` ${facts.share} %`}${facts.stopped ? ', stopped' : ''}, ${facts.verdict}, ${facts.blockers} in the way`,
};

/** A row of a mapping table in parts; paths and constants as they are written, null where the row has none. */
interface RowFacts {
  verb: keyof typeof VERBS;
  source: string;
  reads: string | null;
  policy: string | null;
  target: string | null;
  converter: string | null;
  otherwise: string | null;
}

export const tableSentences = {
  ...comparedSentences,
  rule: ({ verb, source, reads, policy, target, converter, otherwise }: RowFacts) => {
    const from = `${VERBS[verb]}${source}${reads === null ? '' : ` (reads ${reads})`}${policy === null ? '' : `, ${policy}`}`;
    const by = converter === null ? '' : ` by ${converter}`;
    return `${from} → ${target ?? '–'}${by}${otherwise === null ? '' : `, otherwise ${otherwise}`}`;
  },
  /** To send as it is: which call, which field, how often, why, and what to do. */
  loss_advice: ({
    field,
    call,
    count,
    why,
    todo,
  }: {
    field: string;
    call: string;
    count: number;
    why: Sentence;
    todo: Sentence;
  }) =>
    `Your till sends ${field} with ${call} (${times(count)} so far), and it does not reach the payment: ${why.text}. ${todo.text}`,
};

const VERBS = { copy: '', const: 'constant ', context: 'context ', drop: 'drop ', each: 'each ' } as const;
