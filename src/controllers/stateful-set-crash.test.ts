import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statefulSets } from '#/api/generated/apps/v1-resources.ts'
import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import { persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import { isPodReady } from './pods.ts'
import { crashingController } from './test-crashes.ts'
import { statefulSetController } from './stateful-set.ts'
import { startTestControlPlane } from './test-control-plane.ts'
import { runPods } from './test-pods.ts'
import { revisionNumbers, showPods } from './test-sets.ts'

const set: StatefulSet = {
  metadata: { namespace: 'default', name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    updateStrategy: { type: 'RollingUpdate' },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'one' }] } },
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  },
}

function withImage(object: StatefulSet, image: string): StatefulSet {
  const template = { ...set.spec!.template, spec: { containers: [{ name: 'web', image }] } }
  return { ...object, spec: { ...object.spec!, template } }
}

test('after a crash at any write, the next StatefulSet controller continues', async t => {
  for (let writes = 1; ; writes++) {
    const { controller, hasCrashed } = crashingController(statefulSetController, writes)
    const plane = await startTestControlPlane(t, [controller])
    const about = `after ${writes} writes`
    /** Makes pods ready until none is created, and checks that at most one is unready at a time. */
    const makeReady = async (): Promise<void> => {
      for (let count = 1; count > 0;) {
        const all = await plane.list(pods)
        assert.ok(all.filter(pod => !isPodReady(pod)).length <= 1, about)
        count = await runPods(plane)
      }
    }
    await plane.create(statefulSets, set)
    await makeReady()
    await plane.change(statefulSets, 'default/web', each => withImage(each, 'two'))
    await makeReady()
    const image = await showPods(plane, pod => `${pod.metadata.name}:${pod.spec?.containers[0]?.image}`)
    assert.equal(image, 'web-0:two* web-1:two*', about)
    const [updated] = await plane.list(statefulSets)
    const { currentRevision, updateRevision, currentReplicas } = updated?.status ?? {}
    assert.deepEqual([currentRevision, currentReplicas], [updateRevision, 2], about)
    assert.deepEqual(await revisionNumbers(plane), [1, 2], about)
    assert.equal((await plane.list(persistentVolumeClaims)).length, 2, about)
    if (!hasCrashed()) {
      assert.ok(writes > 15)
      return
    }
  }
})
