import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conditionOf } from '#/api/conditions.ts'
import type { Deployment } from '#/api/generated/apps/v1.ts'
import { deployments, replicaSets } from '#/api/generated/apps/v1-resources.ts'
import { crashingController } from './test-crashes.ts'
import { deploymentController } from './deployment.ts'
import { replicaSetController } from './replica-set.ts'
import { startTestControlPlane } from './test-control-plane.ts'
import { runAllPods } from './test-pods.ts'

function specOf(image: string, replicas: number): NonNullable<Deployment['spec']> {
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image }] } }
  return { replicas, revisionHistoryLimit: 0, selector: { matchLabels: labels }, template }
}

test('a rollout interrupted after any write is completed by the next process', async t => {
  for (let writes = 1, hasCrashed = true; hasCrashed; writes++) {
    const crashing = crashingController(deploymentController, writes)
    const plane = await startTestControlPlane(t, [crashing.controller, replicaSetController])
    await plane.create(deployments, { metadata: { namespace: 'default', name: 'web' }, spec: specOf('a', 1) })
    await runAllPods(plane)
    await plane.change(deployments, 'default/web', each => ({ ...each, spec: specOf('b', 2) }))
    await runAllPods(plane)
    const sets = await plane.list(replicaSets)
    assert.deepEqual(
      sets.map(({ spec, status }) => [spec?.template?.spec?.containers[0]?.image, status?.availableReplicas]),
      [['b', 2]],
      `after ${writes} writes`,
    )
    const [deployment] = await plane.list(deployments)
    const progressing = conditionOf(deployment?.status?.conditions, 'Progressing')
    assert.equal(progressing?.reason, 'NewReplicaSetAvailable', `after ${writes} writes`)
    hasCrashed = crashing.hasCrashed()
    assert.ok(hasCrashed || writes > 10, `${writes}`)
  }
})
