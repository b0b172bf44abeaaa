/** The load generator's process, from outside: started, and asked for one measurement after the other. */
import { type Running, startProcess } from '../processes.ts';
import type { LoadPlan, LoadResult } from './plan.ts';

/** @param core null leaves it to the system. */
export function startLoad(directory: string, core: number | null): Promise<Running> {
  return startProcess({ name: 'load', script: 'bench/load/generator.ts', core, directory, ready: /(ready)/ });
}

/** @throws Error when the load generator ends instead of answering. */
export function askLoad(load: Running, plan: LoadPlan): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('The load generator ended.'));
    load.child.once('exit', ended);
    load.child.once('message', (result) => {
      load.child.off('exit', ended);
      resolve(result as LoadResult); // what our own process sends
    });
    load.child.send(plan);
  });
}
