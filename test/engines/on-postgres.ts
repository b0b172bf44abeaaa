/** Every Puente of this project's test files stores its rows on the run's PostgreSQL server. */
import { inject } from 'vitest';

process.env.TEST_POSTGRES_URL = inject('postgres_url');
