/** One PostgreSQL server for all files of the project of that name. */
import type { TestProject } from 'vitest/node';
import { startServerProcess } from '../store/postgres/server-process.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgres_url: string;
  }
}

export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = await startServerProcess();
  provide('postgres_url', server.url);
  return server.stop;
}
