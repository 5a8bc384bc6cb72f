import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobs } from '#/api/generated/batch/v1-resources.ts'
import type { Job, JobStatus } from '#/api/generated/batch/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { jobController } from './job.ts'
import { crashingController } from './test-crashes.ts'
import { activePods, finishPod, jobOf } from './job/test-job-pods.ts'
import { completionIndexOf, hasJobTrackingFinalizer } from './job/tracked-pods.ts'
import { startTestControlPlane } from './test-control-plane.ts'

interface Story {
  readonly spec: Partial<Job['spec']>
  /** Exit code of each pod, in the order in which they finish. */
  readonly codes: (ended: number, index: number) => number
  readonly expected: Partial<JobStatus>
  readonly podsMade: number
}

const stories: Readonly<Record<string, Story>> = {
  'a job that succeeds after a failure': {
    spec: { completions: 2, parallelism: 2 },
    codes: ended => (ended === 0 ? 1 : 0),
    expected: { succeeded: 2, failed: 1 },
    podsMade: 3,
  },
  'a job that fails': {
    spec: { completions: 3, parallelism: 3, backoffLimit: 0 },
    codes: () => 1,
    expected: { failed: 3 },
    podsMade: 3,
  },
  'indexes with limits of their own': {
    spec: {
      completions: 2,
      parallelism: 2,
      completionMode: 'Indexed',
      backoffLimitPerIndex: 1,
      podReplacementPolicy: 'Failed',
    },
    codes: (_ended, index) => (index === 1 ? 1 : 0),
    expected: { succeeded: 1, failed: 2, completedIndexes: '0', failedIndexes: '1' },
    podsMade: 3,
  },
}

for (const [name, { spec, codes, expected, podsMade }] of Object.entries(stories)) {
  test(`after a crash at any write, pods are counted exactly once: ${name}`, async t => {
    for (let writes = 1; ; writes++) {
      const { controller, hasCrashed } = crashingController(jobController, writes)
      const plane = await startTestControlPlane(t, [controller])
      await plane.create(jobs, jobOf(spec))
      for (let ended = 0; ended < 10; ended++) {
        await plane.advance(30_000)
        const [pod] = await activePods(plane)
        if (pod === undefined) break
        await finishPod(plane, pod, { code: codes(ended, completionIndexOf(pod) ?? 0) })
      }
      const [job] = await plane.list(jobs)
      const { succeeded, failed, completedIndexes, failedIndexes } = job?.status ?? {}
      const actual = { succeeded, failed, completedIndexes, failedIndexes }
      const blank = {
        succeeded: undefined,
        failed: undefined,
        completedIndexes: undefined,
        failedIndexes: undefined,
      }
      assert.deepEqual(actual, { ...blank, ...expected }, `${writes} writes`)
      assert.deepEqual(job?.status?.uncountedTerminatedPods, {})
      assert.equal(job?.status?.conditions?.length, 2, `${writes} writes`)
      const made = await plane.list(pods)
      assert.equal(made.filter(hasJobTrackingFinalizer).length, 0)
      assert.ok(made.length <= podsMade, `${made.length} pods with ${writes} writes`)
      if (!hasCrashed()) {
        assert.ok(writes > 10)
        break
      }
    }
  })
}
