import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllerRevisions, daemonSets } from '#/api/generated/apps/v1-resources.ts'
import type { DaemonSet, RollingUpdateDaemonSet } from '#/api/generated/apps/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { crashingController } from './test-crashes.ts'
import { daemonSetController } from './daemon-set.ts'
import { startTestControlPlane } from './test-control-plane.ts'
import { runAllPods } from './test-pods.ts'
import { showPods } from './test-sets.ts'

function setOf(image: string, rollingUpdate: RollingUpdateDaemonSet): DaemonSet {
  return {
    metadata: { namespace: 'default', name: 'log' },
    spec: {
      selector: { matchLabels: { app: 'log' } },
      template: { metadata: { labels: { app: 'log' } }, spec: { containers: [{ name: 'log', image }] } },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate },
    },
  }
}

for (const bound of [{ maxUnavailable: 1 }, { maxUnavailable: 0, maxSurge: 1 }]) {
  test(`after a crash at any write, the next DaemonSet controller continues: ${JSON.stringify(bound)}`, async t => {
    for (let writes = 1; ; writes++) {
      const { controller, hasCrashed } = crashingController(daemonSetController, writes)
      const plane = await startTestControlPlane(t, [controller])
      for (const name of ['a', 'b']) await plane.create(nodes, { metadata: { name } })
      await plane.create(daemonSets, setOf('one', bound))
      await runAllPods(plane)
      await plane.change(daemonSets, 'default/log', set => ({ ...set, spec: setOf('two', bound).spec! }))
      await runAllPods(plane)
      const about = `after ${writes} writes`
      assert.equal(await showPods(plane, pod => pod.spec?.containers[0]?.image ?? ''), 'two* two*', about)
      const [set] = await plane.list(daemonSets)
      assert.equal(set?.status?.updatedNumberScheduled, 2, about)
      assert.equal(set.status.numberAvailable, 2, about)
      assert.equal((await plane.list(controllerRevisions)).length, 2, about)
      if (!hasCrashed()) {
        assert.ok(writes > 10)
        return
      }
    }
  })
}
