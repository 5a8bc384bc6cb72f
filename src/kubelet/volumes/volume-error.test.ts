import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VolumeResolutionError } from './claimed-volume.ts'
import { VolumeError } from './volume-error.ts'
import { VolumeStepError } from './volume-plugin.ts'

const failure = (volume: string, error: Error, shownName = volume) => ({ volume, shownName, error })

test('each failed volume has an event, and a timeout lists all of them', () => {
  const error = new VolumeError([
    failure('config', new Error('configmap "y" not found')),
    failure('data', new VolumeStepError('MountVolume.NodeAffinity check failed', 'no matching'), 'pv-1'),
  ])
  assert.deepEqual(error.events, [
    'MountVolume.SetUp failed for volume "config" : configmap "y" not found',
    'MountVolume.NodeAffinity check failed for volume "pv-1" : no matching',
  ])
  assert.equal(
    error.summary,
    'Unable to attach or mount volumes: unmounted volumes=[config data], unattached volumes=[], ' +
      'failed to process volumes=[]: context deadline exceeded',
  )
  assert.deepEqual(error.volumes, ['config', 'data'])
})

test('an unusable claim is reported at once', () => {
  const reason = 'error processing PVC default/claim: PVC is not bound'
  const error = new VolumeError([
    failure('data', new VolumeResolutionError(reason)),
    failure('config', new Error('configmap "y" not found')),
  ])
  const summary =
    'Unable to attach or mount volumes: unmounted volumes=[config data], unattached volumes=[], ' +
    `failed to process volumes=[data]: ${reason}`
  assert.deepEqual(error.events, [
    'MountVolume.SetUp failed for volume "config" : configmap "y" not found',
    summary,
  ])
  assert.equal(error.summary, summary)
})
