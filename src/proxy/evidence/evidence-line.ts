/** The line of calls that wait for their shadow: bounded by number and by bytes, served one a turn of the process. */
import { nextTurn } from '../rounds.ts';
import type { ShadowTask } from '../runtime.ts';
import { taskBytes } from './evidence-weight.ts';

export interface WaitingTask {
  task: ShadowTask;
  ticket: number;
}

export interface ShadowLine {
  /** @returns false when there is no room. */
  join(waiting: WaitingTask): boolean;
  /** Sends everybody away. */
  empty(): WaitingTask[];
}

/**
 * @param room is waited for before each task.
 * @param serve is handed one task a turn, so that whatever else the process has to do comes in between.
 */
export function createShadowLine(
  limits: { tasks: number; bytes: number },
  room: () => Promise<void>,
  serve: (waiting: WaitingTask) => void,
): ShadowLine {
  const line: (WaitingTask & { weight: number })[] = [];
  let bytes = 0;
  let serving = false;
  const serveAll = async (): Promise<void> => {
    serving = true;
    while (line.length > 0) {
      await nextTurn();
      await room();
      const first = line.shift();
      if (first === undefined) break;
      bytes -= first.weight;
      serve(first);
    }
    serving = false;
  };
  return {
    join({ task, ticket }) {
      const weight = taskBytes(task);
      if (line.length >= limits.tasks || bytes + weight > limits.bytes) return false;
      line.push({ task, ticket, weight });
      bytes += weight;
      if (!serving) void serveAll();
      return true;
    },
    empty() {
      bytes = 0;
      return line.splice(0);
    },
  };
}
