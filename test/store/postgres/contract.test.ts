/** The PostgreSQL engine keeps the store contract. */
import { storeContract } from '../contract/suite.ts';
import { openHarness } from './kit.ts';

storeContract('PostgreSQL', openHarness);
