/** Places of recorded calls: a host only where the line names one. */
import { describe, expect, it } from 'vitest';
import { placeOf } from '../../../src/ops/capture/call.ts';

describe('the place of a recorded call', () => {
  it.each([
    ['//point/integration-api/devices?x=1', { host: null, target: '//point/integration-api/devices?x=1' }],
    ['/point/integration-api/devices', { host: null, target: '/point/integration-api/devices' }],
    ['point/devices', { host: null, target: '/point/devices' }],
    ['https://API.example:8443/point', { host: 'api.example', target: '/point' }],
    ['', null],
  ])('%s', (url, place) => expect(placeOf(url)).toEqual(place));
});
