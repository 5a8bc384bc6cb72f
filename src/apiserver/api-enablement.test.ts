import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultResources } from '#/api/builtin.ts'
import { UsageError } from '#/base/flags.ts'
import { enabledResources, featureGatesFlag, runtimeConfigFlag } from './api-enablement.ts'

const migrations = 'storagemigration.k8s.io/v1beta1'

test('a version that is not served by default is served when it is enabled', () => {
  const served = (versions: readonly string[]): boolean =>
    enabledResources(versions).some(({ plural }) => plural === 'storageversionmigrations')
  assert.equal(served([]), false)
  assert.deepEqual(enabledResources(), defaultResources())
  assert.equal(served(runtimeConfigFlag.read([`${migrations}=true`])), true)
  assert.equal(served(runtimeConfigFlag.read([`${migrations}=false`])), false)
})

test('a flag with a name or a value without effect is refused', () => {
  const check = (read: () => unknown, message: RegExp): void => {
    assert.throws(read, (error: Error) => error instanceof UsageError && message.test(error.message))
  }
  check(
    () => runtimeConfigFlag.read(['apps/v1=false']),
    /^apps\/v1 is served by default and cannot be disabled$/,
  )
  check(() => runtimeConfigFlag.read(['apps/v7=true']), /^there is no API version apps\/v7$/)
  check(() => runtimeConfigFlag.read([migrations]), /must be NAME=true or NAME=false$/)
  check(
    () => featureGatesFlag.read(['InPlacePodVerticalScaling=true']),
    /cannot be set: only StorageVersionMigrator$/,
  )
  assert.deepEqual(featureGatesFlag.read(['StorageVersionMigrator=true']), ['StorageVersionMigrator'])
  assert.deepEqual(featureGatesFlag.read(['StorageVersionMigrator=false']), [])
})
