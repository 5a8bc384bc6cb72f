import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatLevelVersion, latestVersion, modes, policyOf, type Policy } from './policy.ts'

const open = { level: 'privileged', version: latestVersion } as const
const defaults: Policy = { enforce: open, audit: open, warn: open }

/** Checks the enforce, audit and warn levels that the labels result in, and the number of invalid labels. */
function check(labels: string, expected: string, wrong = 0, given: Policy = defaults): void {
  const pairs = labels
    .split(' ')
    .filter(each => each !== '')
    .map(each => each.split('='))
  const named = Object.fromEntries(
    pairs.map(([key = '', value = '']) => [`pod-security.kubernetes.io/${key}`, value]),
  )
  const { policy, errors } = policyOf(named, given)
  assert.deepEqual(
    [modes.map(mode => formatLevelVersion(policy[mode])).join(' '), errors.length],
    [expected, wrong],
    labels,
  )
}

test('pod security labels set level and version of each mode', () => {
  check('', 'privileged:latest privileged:latest privileged:latest')
  check(
    'enforce=baseline enforce-version=v1.30 warn=privileged',
    'baseline:v1.30 privileged:latest privileged:latest',
  )
  check('audit=restricted audit-version=v1.0', 'privileged:latest restricted:v1.0 privileged:latest')
  check('warn=restricted warn-version=latest', 'privileged:latest privileged:latest restricted:latest')
  check('enforce-version=v1.5', 'privileged:v1.5 privileged:latest privileged:latest')
})

test('the enforce level is the default of warn unless warn is set or stricter', () => {
  check('enforce=baseline', 'baseline:latest privileged:latest baseline:latest')
  check('enforce=baseline enforce-version=v1.20', 'baseline:v1.20 privileged:latest baseline:v1.20')
  check(
    'enforce=baseline enforce-version=v1.20 warn-version=v1.21',
    'baseline:v1.20 privileged:latest baseline:v1.21',
  )
  check('enforce=restricted warn=baseline', 'restricted:latest privileged:latest baseline:latest')
  const warning: Policy = { ...defaults, warn: { level: 'restricted', version: 30 } }
  check('enforce=baseline', 'baseline:latest privileged:latest restricted:v1.30', 0, warning)
})

test('invalid pod security labels enforce restricted and disable audit and warn', () => {
  check('enforce=strict', 'restricted:latest privileged:latest privileged:latest', 1)
  check('enforce=', 'restricted:latest privileged:latest privileged:latest', 1)
  check(
    'enforce=baseline enforce-version=v2.0 warn=privileged',
    'baseline:latest privileged:latest privileged:latest',
    1,
  )
  const strict: Policy = {
    ...defaults,
    audit: { level: 'restricted', version: 30 },
    warn: { level: 'restricted', version: 30 },
  }
  check('audit=x warn=__proto__', 'privileged:latest privileged:v1.30 privileged:v1.30', 2, strict)
  for (const version of ['1.20', 'v1', 'v1.', 'v1.01', 'v1.-1', 'v1.1.1', 'Latest', `v1.${'9'.repeat(50)}`]) {
    check(`audit-version=${version}`, 'privileged:latest privileged:latest privileged:latest', 1)
  }
})
