/** Writes down what became of each test of a run, for the proof that has started it. */
import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

export interface Told {
  /** With the names of what it stands in. */
  name: string;
  state: string;
  /** The first lines of a failure, or why it was skipped. */
  why: string;
}

/** Where it is written, as an environment variable. */
export const REPORT = 'PUENTE_PROOF_REPORT';
/** The first lines of a failure say what it was. */
const SHOWN_LINES = 6;

export default class ProofReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { message?: string }[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const told = tests.map((test): Told => {
      const result = test.result();
      const why = result.state === 'skipped' ? (result.note ?? 'no reason given') : wordsOf(result.errors ?? []);
      return { name: test.fullName, state: result.state, why };
    });
    // A file that can't be loaded and an error outside any test have no test of their own.
    const errors = [...modules.flatMap((module) => module.errors()), ...unhandled];
    const outside = errors.map((error): Told => ({ name: 'outside any test', state: 'failed', why: wordsOf([error]) }));
    writeFileSync(process.env[REPORT] ?? '', JSON.stringify([...told, ...outside]));
  }
}

function wordsOf(errors: readonly { message?: string; stack?: string }[]): string {
  const text = errors.map((error) => error.stack ?? error.message ?? String(error)).join('\n');
  return text.split('\n').slice(0, SHOWN_LINES).join('\n  ');
}
