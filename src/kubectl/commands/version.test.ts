import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skewWarning } from './version.ts'

test('versions may differ by one minor version', () => {
  const check = (client: string, server: string, isWarned: boolean) =>
    assert.equal(skewWarning(client, server) !== undefined, isWarned, `${client} ${server}`)
  check('v1.36.4', 'v1.36.0', false)
  check('v1.36.4+k8ts', 'v1.35.9+k3s1', false)
  check('v1.36.4', 'v1.37.0-alpha.1', false)
  check('v1.36.4', 'v1.34.0', true)
  check('v1.36.4', 'v2.36.0', true)
  assert.equal(
    skewWarning('v1.36.4', 'v1.33.1'),
    'version difference between client (1.36) and server (1.33) exceeds the supported minor version skew of +/-1',
  )
  assert.throws(() => skewWarning('v1.36.4', 'unknown'), /could not parse/)
})
