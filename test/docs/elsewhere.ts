/** Commands on the pages that tests cannot run; the pages show them behind a prompt. */

/** Beginnings of such commands, by the reason. The test fails for one that no page has. */
export const elsewhere: Record<string, string[]> = {
  'The repository and the package registry are on the net; `.ci/run` begins with `npm ci`.': [
    'git clone ',
    'cd puente',
    'npm ci',
  ],
  'Parts of the suite and of its checks, which CI runs as a whole.': [
    'npx vitest run ',
    'npm test',
    'npm run generate',
    'npm run check',
  ],
  'Needs a capture of real traffic; test/ops/capture replays such files.': ['npx puente replay '],
  'Changes what this machine trusts; test/journeys/sdk.test.ts attaches a real client by a private authority.': [
    'cp authority.pem ',
    'update-ca-certificates',
  ],
  'Root and systemd; test/deploy/systemd.test.ts reads the unit, test/app/init.test.ts writes its files.': [
    'useradd ',
    'export PATH=/opt/puente/',
    'puente init ',
    'cp /opt/puente/',
    'systemctl ',
    'journalctl ',
  ],
  'A release and its libraries, from the net; test/scripts/pack.test.ts runs the package.': ['npm install --global '],
  'Makes a release; test/scripts/release.test.ts tells what has to agree.': ['npm version ', 'git commit ', 'git tag '],
  'Docker; test/deploy/compose.test.ts reads compose.yaml and the Dockerfile.': [
    'docker compose ',
    'docker build',
    'export PUENTE_OPS_TOKEN=',
  ],
  'HAProxy and a certificate; test/deploy/tls.test.ts checks the file and runs it.': ['haproxy -c '],
  'A database server of yours; test/store/postgres/transfer.test.ts copies an installation to a real one.': [
    'export PUENTE_POSTGRES_URL=',
    'npx puente migrate-store ',
  ],
  'Minutes to hours of two cores; test/scripts/bench.test.ts runs a short one.': ['npm run bench'],
  'Half a minute of two cores; test/journeys/migration.test.ts runs it.': ['npm run demo'],
};
