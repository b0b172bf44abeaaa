/** The SQLite engine keeps the store contract. */
import { storeContract } from '../contract/suite.ts';
import { openHarness } from './kit.ts';

storeContract('SQLite', openHarness);
