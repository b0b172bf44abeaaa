/** Prints `N passed, N failed` as the last line of a test run, for people and for programs that read only that line. */
import { writeSync } from 'node:fs';
import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node';

export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[], reason: TestRunEndReason): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const passed = tests.filter((test) => test.result().state === 'passed').length;
    const failedTests = tests.filter((test) => test.result().state === 'failed').length;
    // A file that fails to load and an error outside any test have no failed test, but count as failures.
    const failedModules = modules.filter((module) => module.errors().length > 0).length;
    const failed = failedTests + failedModules + unhandled.length;
    process.once('exit', () => {
      writeSync(1, `${passed} passed, ${reason !== 'passed' && failed === 0 ? 1 : failed} failed\n`);
    });
  }
}
