/** Writes the outcome of each test of a run to a file, for the proof that started it. */
import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

export interface Told {
  /** Full name, with its `describe` blocks. */
  name: string;
  state: string;
  /** The first lines of a failure, or the reason of a skip. */
  why: string;
}

/** Environment variable with the path of the file. */
export const REPORT = 'PUENTE_PROOF_REPORT';
const SHOWN_LINES = 6;

export default class ProofReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { message?: string }[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const told = tests.map((test): Told => {
      const result = test.result();
      const why = result.state === 'skipped' ? (result.note ?? 'no reason given') : wordsOf(result.errors ?? []);
      return { name: test.fullName, state: result.state, why };
    });
    // A file that fails to load and an error outside any test belong to no test.
    const errors = [...modules.flatMap((module) => module.errors()), ...unhandled];
    const outside = errors.map((error): Told => ({ name: 'outside any test', state: 'failed', why: wordsOf([error]) }));
    writeFileSync(process.env[REPORT] ?? '', JSON.stringify([...told, ...outside]));
  }
}

function wordsOf(errors: readonly { message?: string; stack?: string }[]): string {
  const text = errors.map((error) => error.stack ?? error.message ?? String(error)).join('\n');
  return text.split('\n').slice(0, SHOWN_LINES).join('\n  ');
}
