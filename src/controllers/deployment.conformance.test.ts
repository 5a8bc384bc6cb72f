/**
 * The conformance tests of Deployments, written from their descriptions; the test acts as scheduler and
 * kubelet.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import { deployments, replicaSets } from '#/api/generated/apps/v1-resources.ts'
import type { Scale } from '#/api/generated/autoscaling/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { deploymentController } from './deployment.ts'
import { replicaSetController } from './replica-set.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { runAllPods, runPods } from './test-pods.ts'

const at = { namespace: 'default', name: 'web' }

function start(t: Parameters<typeof startTestControlPlane>[0]): Promise<TestControlPlane> {
  return startTestControlPlane(t, [deploymentController, replicaSetController])
}

function deploymentOf(spec: Partial<Deployment['spec']> = {}): Deployment {
  return {
    metadata: { ...at, labels: { test: 'deployment' } },
    spec: { selector: { matchLabels: { name: 'web' } }, template: templateOf('httpd'), ...spec },
  }
}

function templateOf(image: string): NonNullable<Deployment['spec']>['template'] {
  return { metadata: { labels: { name: 'web' } }, spec: { containers: [{ name: 'web', image }] } }
}

function orphanOf(image: string, replicas: number): ReplicaSet {
  return {
    metadata: { namespace: 'default', name: 'earlier', labels: { name: 'web' } },
    spec: { replicas, selector: { matchLabels: { name: 'web' } }, template: templateOf(image) },
  }
}

function changeSpec(plane: TestControlPlane, spec: Partial<Deployment['spec']>): Promise<Deployment> {
  return plane.change(deployments, 'default/web', each => ({ ...each, spec: { ...each.spec!, ...spec } }))
}

function imageOf({ spec }: Pod): string {
  return spec?.containers[0]?.image ?? ''
}

/** Number of pods by image. */
async function podsOf(plane: TestControlPlane): Promise<Record<string, number>> {
  const all = await plane.list(pods)
  return Object.fromEntries(
    Map.groupBy(all, imageOf)
      .entries()
      .map(([image, some]) => [image, some.length]),
  )
}

async function reasonOf(plane: TestControlPlane): Promise<string | undefined> {
  const deployment = await plane.run(plane.client.get(deployments, at))
  return deployment.status?.conditions?.find(({ type }) => type === 'Progressing')?.reason
}

test('a Deployment has a working scale subresource', async t => {
  const plane = await start(t)
  await plane.create(deployments, deploymentOf())
  await runAllPods(plane)
  const scaleAt = { ...at, subresource: 'scale' }
  const scale = await plane.run(plane.client.getSubresource<Scale>(deployments, scaleAt))
  assert.deepEqual([scale.spec?.replicas, scale.status?.replicas], [1, 1])
  const more = { ...scale, spec: { replicas: 2 } }
  await plane.run(plane.client.updateSubresource<Scale>(deployments, scaleAt, more))
  await plane.settle()
  await runAllPods(plane)
  assert.deepEqual(await podsOf(plane), { httpd: 2 })
  const patch = { spec: { replicas: 4 } }
  await plane.run(plane.client.patch(deployments, scaleAt, { type: 'merge', patch }))
  await plane.settle()
  await runAllPods(plane)
  const after = await plane.run(plane.client.getSubresource<Scale>(deployments, scaleAt))
  assert.deepEqual([after.spec?.replicas, after.status?.replicas], [4, 4])
  assert.deepEqual(await podsOf(plane), { httpd: 4 })
})

test('a Recreate Deployment deletes old pods and creates new ones', async t => {
  const plane = await start(t)
  await plane.create(deployments, deploymentOf({ strategy: { type: 'Recreate' } }))
  await runAllPods(plane)
  const watching = new AbortController()
  const alive = new Map<string, string>()
  const images = new Set<string>()
  const watch = (async () => {
    for await (const { type, object } of plane.client.watch(pods, { signal: watching.signal })) {
      const { uid = '' } = object.metadata
      if (type === 'DELETED') alive.delete(uid)
      else if (type !== 'BOOKMARK') alive.set(uid, imageOf(object))
      images.add([...new Set(alive.values())].join('+'))
    }
  })().catch(() => undefined)
  await changeSpec(plane, { template: templateOf('nginx') })
  await runAllPods(plane)
  watching.abort()
  await plane.run(watch)
  assert.deepEqual(await podsOf(plane), { nginx: 1 })
  assert.ok(![...images].some(each => each.includes('+')), [...images].join(' '))
})

test('a RollingUpdate Deployment replaces old pods, including those of an adopted ReplicaSet', async t => {
  const plane = await start(t)
  const earlier = orphanOf('httpd', 1)
  const annotations = { 'deployment.kubernetes.io/revision': '3546343826724305832' }
  await plane.create(replicaSets, { ...earlier, metadata: { ...earlier.metadata, annotations } })
  await runAllPods(plane)
  await plane.create(deployments, deploymentOf({ template: templateOf('agnhost') }))
  await runAllPods(plane)
  assert.deepEqual(await podsOf(plane), { agnhost: 1 })
  const sets = await plane.list(replicaSets)
  assert.equal(sets.find(set => set.metadata.name === 'earlier')?.spec?.replicas, 0)
  assert.equal(sets.find(set => set.metadata.name !== 'earlier')?.spec?.replicas, 1)
  const deployment = await plane.run(plane.client.get(deployments, at))
  assert.equal(deployment.metadata.annotations?.['deployment.kubernetes.io/revision'], '3546343826724305833')
})

test('a Deployment deletes old replica sets by its revisionHistoryLimit', async t => {
  const plane = await start(t)
  await plane.create(replicaSets, orphanOf('httpd', 1))
  await runAllPods(plane)
  await plane.create(deployments, deploymentOf({ revisionHistoryLimit: 0, template: templateOf('agnhost') }))
  await runAllPods(plane)
  const sets = await plane.list(replicaSets)
  assert.equal(sets.length, 1)
  assert.notEqual(sets[0]?.metadata.name, 'earlier')
})

test('a Deployment supports proportional scaling', async t => {
  const plane = await start(t)
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } }
  await plane.create(deployments, deploymentOf({ replicas: 10, strategy }))
  await runAllPods(plane)
  await changeSpec(plane, { template: templateOf('nonexistent') })
  const sizesOf = async (): Promise<unknown> => {
    const sets = await plane.list(replicaSets)
    return Object.fromEntries(
      sets.map(set => [set.spec?.template?.spec?.containers[0]?.image, set.spec?.replicas]),
    )
  }
  assert.deepEqual(await sizesOf(), { httpd: 8, nonexistent: 5 })
  await changeSpec(plane, { replicas: 30 })
  assert.deepEqual(await sizesOf(), { httpd: 20, nonexistent: 13 })
})

test('a Deployment supports rollover', async t => {
  const plane = await start(t)
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
  await plane.create(replicaSets, orphanOf('httpd', 1))
  await runAllPods(plane)
  await plane.create(
    deployments,
    deploymentOf({ strategy, minReadySeconds: 10, template: templateOf('bad') }),
  )
  assert.deepEqual(await podsOf(plane), { httpd: 1, bad: 1 })
  // The template changes again before the first rollout completes.
  await changeSpec(plane, { template: templateOf('agnhost') })
  await runPods(plane, pod => imageOf(pod) === 'agnhost')
  await plane.advance(12_000)
  await runAllPods(plane)
  await plane.advance(12_000)
  assert.deepEqual(await podsOf(plane), { agnhost: 1 })
  assert.equal(await reasonOf(plane), 'NewReplicaSetAvailable')
  const sizes = (await plane.list(replicaSets)).map(set => set.spec?.replicas ?? 0)
  assert.deepEqual([sizes.length, Math.max(...sizes)], [3, 1])
})

test('a Deployment supports its lifecycle', async t => {
  const plane = await start(t)
  const selector = { labelSelector: 'test=deployment' }
  await plane.create(deployments, deploymentOf({ replicas: 2 }))
  await runAllPods(plane)
  const patch = {
    metadata: { labels: { patched: 'yes' } },
    spec: { replicas: 1, template: templateOf('agnhost') },
  }
  const patched = await plane.run(plane.client.patch(deployments, at, { type: 'strategic', patch }))
  assert.equal(patched.metadata.labels?.['patched'], 'yes')
  await plane.settle()
  await runAllPods(plane)
  assert.deepEqual(await podsOf(plane), { agnhost: 1 })
  const everywhere = await plane.run(plane.client.list(deployments, selector))
  assert.equal(everywhere.items[0]?.metadata.name, 'web')
  await changeSpec(plane, { replicas: 2 })
  await runAllPods(plane)
  const ready = await plane.run(plane.client.get(deployments, at))
  assert.deepEqual([ready.status?.readyReplicas, ready.status?.updatedReplicas], [2, 2])
  await plane.run(plane.client.deleteCollection(deployments, { ...selector, namespace: 'default' }))
  await plane.settle()
  assert.equal((await plane.list(deployments)).length, 0)
})

test('the status of a Deployment is read, updated and patched', async t => {
  const plane = await start(t)
  await plane.create(deployments, deploymentOf())
  await runAllPods(plane)
  const condition = { type: 'StatusUpdate', status: 'True', reason: 'E2E', message: 'Set from e2e test' }
  await plane.changeStatus(deployments, 'default/web', each => ({
    ...each,
    status: { ...each.status, conditions: [...(each.status?.conditions ?? []), condition] },
  }))
  const patched = { type: 'StatusPatched', status: 'True' }
  const patch = { status: { conditions: [patched] } }
  await plane.run(
    plane.client.patch(deployments, { ...at, subresource: 'status' }, { type: 'strategic', patch }),
  )
  await plane.settle()
  const deployment = await plane.run(plane.client.get(deployments, at))
  const types = deployment.status?.conditions?.map(({ type }) => type) ?? []
  assert.ok(types.includes('StatusUpdate') && types.includes('StatusPatched'), types.join())
})
