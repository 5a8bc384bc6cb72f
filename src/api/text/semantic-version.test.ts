import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  compareSemanticVersions,
  isSemanticVersion,
  parseSemanticVersion,
  parseSemanticVersionLeniently,
  SemanticVersionError,
} from './semantic-version.ts'

test('semantic versions are parsed', () => {
  assert.deepEqual(parseSemanticVersion('1.22.333-rc.1.0a+b.01'), {
    major: 1n,
    minor: 22n,
    patch: 333n,
    preRelease: ['rc', 1n, '0a'],
  })
  assert.equal(parseSemanticVersion('18446744073709551615.0.0').major, 2n ** 64n - 1n)
})

test("invalid semantic versions have Kubernetes' messages", () => {
  const check = (text: string, message: string): void => {
    assert.throws(() => parseSemanticVersion(text), { name: 'SemanticVersionError', message })
  }
  check('', 'Version string empty')
  check('1.2', 'No Major.Minor.Patch elements found')
  check('v1.0.0', 'Invalid character(s) found in major number "v1"')
  check('1.a.0', 'Invalid character(s) found in minor number "a"')
  check('1.0.b', 'Invalid character(s) found in patch number "b"')
  check('01.0.0', 'Major number must not contain leading zeroes "01"')
  check('1.0.0-01', 'Numeric PreRelease version must not contain leading zeroes "01"')
  check('1.0.0-a..b', 'Prerelease is empty')
  check('1.0.0-é', 'Invalid character(s) found in prerelease "é"')
  check('1.0.0+', 'Build meta data is empty')
  check('1.0.0+ä', 'Invalid character(s) found in build meta data "ä"')
  check('..', 'strconv.ParseUint: parsing "": invalid syntax')
  check('18446744073709551616.0.0', 'strconv.ParseUint: parsing "18446744073709551616": value out of range')
  assert.throws(() => parseSemanticVersion(`1.${'9'.repeat(1_000_000)}.0`), SemanticVersionError)
})

test('lenient parsing completes and normalizes versions', () => {
  const check = (text: string, expected: string): void => {
    assert.deepEqual(parseSemanticVersionLeniently(text), parseSemanticVersion(expected))
  }
  check('v1.0.0', '1.0.0')
  check('1', '1.0.0')
  check('1.2', '1.2.0')
  check('01.02.03', '1.2.3')
  check('000.00.0', '0.0.0')
  check('1.2.00-rc1', '1.2.0-rc1')
  assert.throws(() => parseSemanticVersionLeniently('1.2-rc1'), /short version cannot contain PreRelease/)
  assert.throws(() => parseSemanticVersionLeniently('vv1'), SemanticVersionError)
  assert.throws(() => parseSemanticVersionLeniently(' 1.0.0'), SemanticVersionError)
})

test('semantic versions are ordered by precedence', () => {
  const ordered =
    '0.9.0 1.0.0-1 1.0.0-2 1.0.0-10 1.0.0-a 1.0.0-a.1 1.0.0-a.b 1.0.0-b 1.0.0 1.0.1 1.10.0 2.0.0'.split(' ')
  for (const [left, a] of ordered.entries()) {
    for (const [right, b] of ordered.entries()) {
      const order = compareSemanticVersions(parseSemanticVersion(a), parseSemanticVersion(`${b}+any`))
      assert.equal(order, Math.sign(left - right), `${a} ${b}`)
    }
  }
})

test('isSemanticVersion agrees with parseSemanticVersion', () => {
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom('0', '1', '9', '.', '-', '+', 'a'), maxLength: 14 }),
    fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.constantFrom('', '-rc.1', '+b.01', '-0.a+c')).map(parts => {
      return `${parts.slice(0, 3).join('.')}${parts[3]}`
    }),
  )
  fc.assert(
    fc.property(text, each => {
      let isVersion = true
      try {
        parseSemanticVersion(each)
      } catch (error) {
        assert.ok(error instanceof SemanticVersionError)
        isVersion = false
      }
      assert.equal(isSemanticVersion(each), isVersion)
    }),
  )
})
