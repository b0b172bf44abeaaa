/** Commands of the pages that need something that no test has; each stands behind a prompt there. */

/** By the reason: how such a command begins. One that no page has any more makes the test fail. */
export const elsewhere: Record<string, string[]> = {
  'The repository and the package registry are on the net; `.ci/run` begins with `npm ci`.': [
    'git clone ',
    'cd puente',
    'npm ci',
  ],
  'Parts of the suite and of its checks, which CI runs as a whole.': [
    'npx vitest run ',
    'npm run generate',
    'npm run check',
  ],
  'Needs a capture of real traffic; test/core/capture replays such files.': ['npx puente replay '],
  'Changes what this machine trusts; test/journeys/sdk.test.ts attaches a real client by a private authority.': [
    'cp authority.pem ',
    'update-ca-certificates',
  ],
  'Half a minute of two cores; test/demo.test.ts runs it.': ['npm run demo'],
};
