/** `npm run check:release [-- vX.Y.Z]`: tag, package.json, lock file and CHANGELOG name one version. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Release {
  /** The tag that this commit has or will get; null for a commit between two releases. */
  tag: string | null;
  tags: readonly string[];
  version: string;
  /** The versions in package-lock.json, in both places. */
  locked: readonly string[];
  changelog: string;
  /** Of package.json; undefined for none. */
  repository: string | undefined;
}

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;
const UNRELEASED = 'Unreleased';

/** @returns a sentence with the repair for each disagreement. */
export function releaseProblems({ tag, tags, version, locked, changelog, repository }: Release): string[] {
  const problems: string[] = [];
  if (!VERSION.test(version)) problems.push(`package.json has the version ${version}; write it as X.Y.Z.`);
  if (locked.some((one) => one !== version))
    problems.push(
      `package-lock.json has the version ${locked.join(' and ')}, package.json ${version}; run npm install.`,
    );
  const [first, second] = sectionsOf(changelog);
  if (first?.name !== UNRELEASED) problems.push(`CHANGELOG.md does not begin with ## [${UNRELEASED}]; put one on top.`);
  const newest = tags
    .filter((one) => one !== tag)
    .map(ordinal)
    .sort(compare)
    .at(-1);
  if (newest !== undefined && compare(ordinal(version), newest) < 0)
    problems.push(`package.json has ${version}, and ${newest.join('.')} was released already; raise the version.`);
  if (tag === null) return problems;
  if (repository === undefined)
    problems.push('package.json names no repository; run npm pkg set repository="$(git remote get-url origin)".');
  if (tag !== `v${version}`) problems.push(`The tag is ${tag}, and package.json has ${version}; they must agree.`);
  if (second?.name !== version || !/^\d{4}-\d{2}-\d{2}$/.test(second.date))
    problems.push(`CHANGELOG.md has no section ## [${version}] - YYYY-MM-DD below ${UNRELEASED}; write what changed.`);
  return problems;
}

function sectionsOf(changelog: string): { name: string; date: string }[] {
  return [...changelog.matchAll(/^## \[([^\]]+)\](?: - (\S+))?$/gm)].map(([, name = '', date = '']) => ({
    name,
    date,
  }));
}

/** A text that is no version sorts before all versions. */
function ordinal(text: string): number[] {
  return VERSION.exec(text.replace(/^v/, ''))?.slice(1).map(Number) ?? [-1, -1, -1];
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

function gitTags(...options: string[]): string[] {
  return execFileSync('git', ['tag', '--list', 'v*', ...options], { cwd: import.meta.dirname, encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '');
}

if (import.meta.main) {
  const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
  const lock = JSON.parse(read('package-lock.json')) as { version: string; packages: { '': { version: string } } }; // npm's form
  const { version, repository } = JSON.parse(read('package.json')) as Pick<Release, 'version' | 'repository'>; // our file
  const problems = releaseProblems({
    tag: process.argv[2] ?? gitTags('--points-at', 'HEAD')[0] ?? null,
    tags: gitTags(),
    ...{ version, repository },
    locked: [lock.version, lock.packages[''].version],
    changelog: read('CHANGELOG.md'),
  });
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
