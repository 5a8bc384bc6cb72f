import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobs } from '#/api/generated/batch/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { jobController } from './job.ts'
import { activePods, finishPod, jobOf } from './job/test-job-pods.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { ttlAfterFinishedController } from './ttl-after-finished.ts'

async function isGoing(plane: TestControlPlane): Promise<boolean> {
  const [job] = await plane.list(jobs)
  return job === undefined || isBeingDeleted(job)
}

test('a finished job is deleted after its TTL with foreground propagation', async t => {
  for (const code of [0, 1]) {
    const plane = await startTestControlPlane(t, [jobController, ttlAfterFinishedController])
    await plane.create(jobs, jobOf({ ttlSecondsAfterFinished: 100, backoffLimit: 0 }))
    await plane.advance(500_000)
    assert.equal(await isGoing(plane), false)
    const [pod] = await activePods(plane)
    await finishPod(plane, pod!, { code })
    await plane.advance(90_000)
    assert.equal(await isGoing(plane), false)
    await plane.advance(12_000)
    const [job] = await plane.list(jobs)
    assert.deepEqual(job?.metadata.finalizers, ['foregroundDeletion'])
  }
})

test('a changed or added TTL takes effect', async t => {
  const plane = await startTestControlPlane(t, [jobController, ttlAfterFinishedController])
  await plane.create(jobs, jobOf({ ttlSecondsAfterFinished: 100 }))
  const [pod] = await activePods(plane)
  await finishPod(plane, pod!, { code: 0 })
  const give = (ttlSecondsAfterFinished: number | undefined): Promise<unknown> => {
    return plane.change(jobs, 'default/work', job => ({
      ...job,
      spec: { ...job.spec!, ttlSecondsAfterFinished },
    }))
  }
  await give(300)
  await plane.advance(200_000)
  assert.equal(await isGoing(plane), false)
  await give(undefined)
  await plane.advance(3_600_000)
  assert.equal(await isGoing(plane), false)
  await give(0)
  assert.equal(await isGoing(plane), true)
})
