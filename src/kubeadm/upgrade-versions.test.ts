import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkVersionSkew, compareVersions, isVersionOf, oldestVersion } from './upgrade-versions.ts'

test('an upgrade goes one minor version at a time, and kubelets are not newer than the API server', () => {
  const check = (versions: string, ...expected: readonly RegExp[]): void => {
    const [cluster = '', target = '', ...kubelets] = versions.split(' ')
    const problems = checkVersionSkew({
      cluster,
      target,
      kubelets: new Map(kubelets.map((version, index) => [`node-${index}`, version])),
    })
    const texts = problems.map(
      ({ isMandatory, message }) => `${isMandatory ? 'mandatory' : 'skippable'}: ${message}`,
    )
    assert.equal(texts.length, expected.length, texts.join('\n'))
    for (const [index, pattern] of expected.entries()) assert.match(texts[index]!, pattern)
  }
  check('v1.36.4+k8ts.0.1.0 v1.36.4+k8ts.0.2.0 v1.36.4+k8ts.0.1.0')
  check('v1.36.4 v1.37.0+k8ts.0.3.0 v1.36.4 v1.34.0')
  check('v1.36.4 v1.36.4')
  check('v1.37.0 v1.36.4 v1.36.4')
  check('v1.36.4 v1.38.0 v1.36.4', /^mandatory: v1\.38\.0 is too high for a cluster of v1\.36\.4/)
  check('v1.38.0 v1.36.4 v1.36.4', /^mandatory: v1\.36\.4 is too low/)
  check('v1.37.0 v1.36.4 v1.37.0', /^skippable: kubelets must not be newer .*: node-0 \(v1\.37\.0\)$/)
  check(
    'v1.36.4 v1.37.0 v1.33.9 v1.36.4',
    /^skippable: .* more than 3 minor versions older: node-0 \(v1\.33\.9\)$/,
  )
})

test('versions are compared by Kubernetes, then by k8ts', () => {
  const sorted = ['v1.36.4', 'v1.36.4+k8ts.0.1.0', 'v1.36.4+k8ts.0.2.0', 'v1.36.10+k8ts.0.1.0', 'v1.37.0']
  assert.deepEqual(sorted.toReversed().sort(compareVersions), sorted)
  assert.equal(oldestVersion(sorted.toReversed()), 'v1.36.4')
  assert.equal(oldestVersion([]), undefined)
})

test('the version to upgrade to is that of this program, of Kubernetes or of k8ts', () => {
  const program = 'v1.36.4+k8ts.0.2.0'
  for (const given of ['v1.36.4', '1.36.4', '0.2.0', program]) assert.ok(isVersionOf(given, program), given)
  for (const given of ['v1.36.3', '1.36', '0.1.0', 'v1.36.4+k8ts.0.1.0'])
    assert.ok(!isVersionOf(given, program), given)
})
