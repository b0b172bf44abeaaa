/** The places that must name a release's version, checked on this commit too. */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type Release, releaseProblems } from '../../scripts/check-release.ts';
import { HOUSE } from '../run-cli.ts';

const CHANGELOG = '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n\n### Added\n\n- A till.\n';
const good: Release = {
  tag: 'v1.2.3',
  tags: ['v1.2.2', 'v1.2.3', 'very-old'],
  version: '1.2.3',
  locked: ['1.2.3', '1.2.3'],
  changelog: CHANGELOG,
  repository: 'https://git.example/puente',
};

describe('npm run check:release', () => {
  it.each<[string, Partial<Release>, RegExp]>([
    ['another tag', { tag: 'v1.3.0' }, /tag is v1\.3\.0/],
    ['another lock file', { locked: ['1.2.3', '1.2.2'] }, /npm install/],
    ['a version that is none', { version: '1.2', locked: ['1.2', '1.2'], tag: null }, /X\.Y\.Z/],
    ['a version behind the newest tag', { tag: null, tags: ['v1.2.3', 'v1.10.0'] }, /1\.10\.0 was released/],
    ['a tag behind the newest one', { tags: ['v1.2.3', 'v2.0.0'] }, /2\.0\.0 was released/],
    ['a release of no repository', { repository: undefined }, /npm pkg set repository/],
    ['no section', { changelog: '## [Unreleased]\n' }, /no section ## \[1\.2\.3\]/],
    ['a section without a day', { changelog: CHANGELOG.replace('2026-01-31', 'soon') }, /no section/],
    ['an older section on top', { changelog: CHANGELOG.replace('1.2.3', '1.2.2') }, /no section/],
    ['nothing unreleased', { changelog: CHANGELOG.replace('Unreleased', 'Next') }, /does not begin/],
  ])('refuses %s', (_, change, says) => {
    const problems = releaseProblems({ ...good, ...change });
    expect(problems.join('\n')).toMatch(says);
  });

  it('takes a release, and what lies between two', () => {
    expect(releaseProblems(good)).toEqual([]);
    expect(releaseProblems({ ...good, tag: null, version: '1.3.0', locked: ['1.3.0', '1.3.0'] })).toEqual([]);
    expect(releaseProblems({ ...good, tag: null, tags: [] })).toEqual([]);
  });

  it('takes this commit', () => {
    expect(execFileSync(process.execPath, ['scripts/check-release.ts'], { cwd: HOUSE, encoding: 'utf8' })).toBe('');
  });
});
