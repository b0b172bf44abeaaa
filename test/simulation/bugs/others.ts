/** Seeded bugs of disk, sockets or text, which a simulation can't see: each must fail a test of its own. */
import type { BugRow } from './bug.ts';

export const otherBugs: BugRow[] = [
  {
    name: 'NORMAL sync',
    test: { file: 'test/store/sqlite/settings.test.ts', name: 'are FULL before and after the first write' },
    file: 'store/sqlite/settings.ts',
    from: "['synchronous', 'synchronous = FULL', 2],",
    to: "['synchronous', 'synchronous = NORMAL', 1],",
  },
  {
    name: 'lookup-only SSRF check',
    test: { file: 'test/proxy/notices/guard.test.ts', name: 'to the IP literal' },
    file: 'proxy/notices/guard.ts',
    from: 'const cause = isIP(host) === 0 ? null : refusalOf(host, policy);\n    if (cause !== null) return callback',
    to: 'const cause = null;\n    if (cause !== null) return callback',
    and: {
      from: 'const wrong = peerRefusal(socket, policy);',
      to: 'const wrong = null;',
    },
  },
  {
    name: 'redirect followed',
    test: { file: 'test/proxy/notices/sender.test.ts', name: '302 with another address is not followed' },
    file: 'proxy/notices/delivery.ts',
    from: 'const is_whole = await readSome(answer.body);',
    to: "const { location } = answer.headers; if (answer.statusCode >= 300 && answer.statusCode < 400 && typeof location === 'string') return post(new URL(location, origin), { url: location, headers, body }); const is_whole = await readSome(answer.body);",
  },
  {
    name: '=== on signatures',
    test: { file: 'test/proxy/http/signature.test.ts', name: 'is decided by the constant-time comparison' },
    file: 'proxy/http/signature.ts',
    from: 'verified = timingSafeEqual(given, expected) || verified;',
    to: "verified = given.toString('hex') === expected.toString('hex') || verified; void timingSafeEqual;",
  },
  {
    name: 'path-only redaction',
    test: { file: 'test/proof/redaction.test.ts', name: 'has every field of the list, numbers and texts alone' },
    file: 'proxy/telemetry/telemetry.ts',
    from: 'const options = { level, base: null };',
    to: "const options = { level, base: null, redact: ['token', 'authorization', 'body.token'] };",
    and: {
      from: 'const kept: Record<string, string | number> = {};',
      to: 'const kept: Record<string, string | number> = {}; if (fields !== null) return fields as never;',
    },
  },
];
