/** Every Puente that a file of this project starts keeps its rows on the run's PostgreSQL server. */
import { inject } from 'vitest';

process.env.TEST_POSTGRES_URL = inject('postgres_url');
