import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forbidden } from '#/api/errors.ts'
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import { deployments, replicaSets } from '#/api/generated/apps/v1-resources.ts'
import { events, namespaces, pods } from '#/api/generated/core/v1-resources.ts'
import { keyOf } from '#/api/metadata.ts'
import { deploymentController } from './deployment.ts'
import { replicaSetController } from './replica-set.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { refuseCreation, usualAdmission } from './test-admission.ts'
import { bindPod, runAllPods, runPods, stopPods } from './test-pods.ts'

const controllers = [deploymentController, replicaSetController]
const key = 'default/web'

function deploymentOf(image: string, spec: Partial<Deployment['spec']> = {}): Deployment {
  return {
    metadata: { namespace: 'default', name: 'web' },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: templateOf(image),
      ...spec,
    },
  }
}

function templateOf(image: string): NonNullable<Deployment['spec']>['template'] {
  return { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } }
}

async function start(t: Parameters<typeof startTestControlPlane>[0]): Promise<TestControlPlane> {
  return startTestControlPlane(t, controllers)
}

function changeSpec(plane: TestControlPlane, spec: Partial<Deployment['spec']>): Promise<Deployment> {
  return plane.change(deployments, key, each => ({ ...each, spec: { ...each.spec!, ...spec } }))
}

function imageOf(set: ReplicaSet): string {
  return set.spec?.template?.spec?.containers[0]?.image ?? ''
}

/** `image:size/available#revision`, sorted by image. */
async function shapeOf(plane: TestControlPlane): Promise<string> {
  const sets = await plane.list(replicaSets)
  const shapes = sets.map(set => {
    const revision = set.metadata.annotations?.['deployment.kubernetes.io/revision']
    return `${imageOf(set)}:${set.spec?.replicas}/${set.status?.availableReplicas ?? 0}#${revision}`
  })
  return shapes.toSorted().join(' ')
}

async function conditionsOf(plane: TestControlPlane): Promise<string[]> {
  const [deployment] = await plane.list(deployments)
  return (deployment?.status?.conditions ?? [])
    .map(({ type, status, reason }) => `${type} ${status} ${reason}`)
    .toSorted()
}

async function messagesOf(plane: TestControlPlane): Promise<string[]> {
  const all = (await plane.list(events)).filter(({ involvedObject }) => involvedObject.kind === 'Deployment')
  return all.map(({ reason, message }) => `${reason}: ${message?.replace(/web-\w+/, 'web-x')}`).toSorted()
}

test('a Deployment becomes available, reports it and settles', async t => {
  const plane = await start(t)
  await plane.create(deployments, deploymentOf('a'))
  assert.deepEqual(await conditionsOf(plane), [
    'Available False MinimumReplicasUnavailable',
    'Progressing True ReplicaSetUpdated',
  ])
  await runAllPods(plane)
  const [deployment] = await plane.list(deployments)
  const { conditions, ...counts } = deployment?.status ?? {}
  assert.deepEqual(counts, {
    observedGeneration: 1,
    replicas: 3,
    updatedReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    terminatingReplicas: 0,
  })
  assert.deepEqual(
    conditions?.map(
      ({ type, reason, message }) => `${type} ${reason} ${message?.replace(/web-\w+/, 'web-x')}`,
    ),
    [
      'Available MinimumReplicasAvailable Deployment has minimum availability.',
      'Progressing NewReplicaSetAvailable ReplicaSet "web-x" has successfully progressed.',
    ],
  )
  assert.equal(deployment?.metadata.annotations?.['deployment.kubernetes.io/revision'], '1')
  assert.deepEqual(await messagesOf(plane), ['ScalingReplicaSet: Scaled up replica set web-x from 0 to 3'])
  const version = deployment?.metadata.resourceVersion
  await plane.advance(3_600_000)
  assert.equal((await plane.list(deployments))[0]?.metadata.resourceVersion, version)
})

test('a rollout stays within its limits at every revision, and a rollback reuses the old ReplicaSet', async t => {
  const plane = await start(t)
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } }
  await plane.create(deployments, deploymentOf('a', { replicas: 4, strategy }))
  await runAllPods(plane)
  const watching = new AbortController()
  const wanted: number[] = []
  const sizes = new Map<string, number>()
  const watch = (async () => {
    for await (const { type, object } of plane.client.watch(replicaSets, { signal: watching.signal })) {
      if (type === 'BOOKMARK') continue
      sizes.set(object.metadata.name, object.spec?.replicas ?? 0)
      wanted.push([...sizes.values()].reduce((total, size) => total + size, 0))
    }
  })().catch(() => undefined)
  await plane.settle()
  await changeSpec(plane, { template: templateOf('b') })
  assert.equal(await shapeOf(plane), 'a:3/3#1 b:2/0#2')
  await runPods(plane)
  assert.equal(await shapeOf(plane), 'a:1/1#1 b:4/2#2')
  await runAllPods(plane)
  assert.equal(await shapeOf(plane), 'a:0/0#1 b:4/4#2')
  await changeSpec(plane, { template: templateOf('a') })
  await runAllPods(plane)
  assert.equal(await shapeOf(plane), 'a:4/4#3 b:0/0#2')
  watching.abort()
  await plane.run(watch)
  assert.ok(wanted.length > 6 && Math.max(...wanted) === 5, wanted.join())
  const [deployment] = await plane.list(deployments)
  assert.equal(deployment?.metadata.annotations?.['deployment.kubernetes.io/revision'], '3')
  const went = (await plane.list(replicaSets)).find(set => imageOf(set) === 'a')
  assert.equal(went?.metadata.annotations?.['deployment.kubernetes.io/revision-history'], '1')
})

test('a stuck rollout exceeds its progress deadline and recovers with progress', async t => {
  const plane = await start(t)
  await plane.create(deployments, deploymentOf('a', { progressDeadlineSeconds: 60 }))
  await runAllPods(plane)
  await changeSpec(plane, { template: templateOf('b') })
  await plane.advance(50_000)
  assert.ok((await conditionsOf(plane)).includes('Progressing True ReplicaSetUpdated'))
  await plane.advance(15_000)
  assert.deepEqual(await conditionsOf(plane), [
    'Available True MinimumReplicasAvailable',
    'Progressing False ProgressDeadlineExceeded',
  ])
  await runAllPods(plane)
  assert.ok((await conditionsOf(plane)).includes('Progressing True NewReplicaSetAvailable'))
})

test('a paused Deployment scales but does not roll out until resumed', async t => {
  const plane = await start(t)
  await plane.create(deployments, deploymentOf('a'))
  await runAllPods(plane)
  await changeSpec(plane, { paused: true, template: templateOf('b'), replicas: 5 })
  assert.equal(await shapeOf(plane), 'a:5/3#1')
  assert.ok((await conditionsOf(plane)).includes('Progressing Unknown DeploymentPaused'))
  await plane.advance(900_000)
  assert.ok((await conditionsOf(plane)).includes('Progressing Unknown DeploymentPaused'))
  await changeSpec(plane, { paused: false })
  await runAllPods(plane)
  assert.equal(await shapeOf(plane), 'a:0/0#1 b:5/5#2')
})

test('the Recreate strategy waits for the last old pod', async t => {
  const plane = await start(t)
  await plane.create(deployments, deploymentOf('a', { replicas: 2, strategy: { type: 'Recreate' } }))
  for (const pod of await plane.list(pods)) await bindPod(plane, pod, 'n1')
  await runAllPods(plane)
  await changeSpec(plane, { template: templateOf('b') })
  await plane.advance(20_000)
  assert.equal(await shapeOf(plane), 'a:0/0#1')
  const [waiting] = await plane.list(deployments)
  assert.equal(waiting?.status?.terminatingReplicas, 2)
  const [first, last] = await plane.list(pods)
  // A running pod blocks the rollout even if its labels no longer match the replica set.
  await plane.change(pods, keyOf(last!), pod => ({
    ...pod,
    metadata: { ...pod.metadata, labels: { app: 'other' } },
  }))
  await stopPods(plane, pod => pod.metadata.uid === first?.metadata.uid)
  assert.equal(await shapeOf(plane), 'a:0/0#1')
  await stopPods(plane)
  assert.equal(await shapeOf(plane), 'a:0/0#1 b:2/0#2')
  await runAllPods(plane)
  assert.ok((await conditionsOf(plane)).includes('Progressing True NewReplicaSetAvailable'))
})

test('unhealthy pods of an old ReplicaSet do not block the rollout', async t => {
  const plane = await start(t)
  await plane.create(deployments, deploymentOf('a', { replicas: 4 }))
  await changeSpec(plane, { template: templateOf('b') })
  assert.equal(await shapeOf(plane), 'a:3/0#1 b:2/0#2')
  await changeSpec(plane, { template: templateOf('c') })
  await runAllPods(plane)
  assert.equal(await shapeOf(plane), 'a:0/0#1 b:0/0#2 c:4/4#3')
})

test('a hash collision increments collisionCount and uses another name', async t => {
  const plane = await start(t)
  await plane.create(deployments, deploymentOf('a'))
  const [first] = await plane.list(replicaSets)
  const { namespace, name = '' } = first?.metadata ?? {}
  await plane.run(plane.client.delete(deployments, { namespace, name: 'web' }))
  await plane.run(plane.client.delete(replicaSets, { namespace, name }))
  await plane.settle()
  const other = { matchLabels: { app: 'other' } }
  const template = { ...templateOf('x'), metadata: { labels: { app: 'other' } } }
  await plane.create(replicaSets, {
    metadata: { namespace, name },
    spec: { replicas: 0, selector: other, template },
  })
  await plane.create(deployments, deploymentOf('a'))
  const [deployment] = await plane.list(deployments)
  assert.equal(deployment?.status?.collisionCount, 1)
  const owned = (await plane.list(replicaSets)).filter(set => set.metadata.ownerReferences)
  assert.equal(owned.length, 1)
  assert.notEqual(owned[0]?.metadata.name, name)
})

test('a matching orphan ReplicaSet is adopted, and released when it no longer matches', async t => {
  const plane = await start(t)
  await plane.create(replicaSets, {
    metadata: { namespace: 'default', name: 'orphan', labels: { app: 'web' } },
    spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template: templateOf('a') },
  })
  await plane.create(deployments, deploymentOf('a'))
  await runAllPods(plane)
  assert.equal(await shapeOf(plane), 'a:3/3#1')
  const ownersOf = async (): Promise<unknown> => {
    const sets = await plane.list(replicaSets)
    return sets.find(set => set.metadata.name === 'orphan')?.metadata.ownerReferences?.map(each => each.name)
  }
  assert.deepEqual(await ownersOf(), ['web'])
  assert.ok((await conditionsOf(plane)).includes('Progressing True NewReplicaSetAvailable'))
  await plane.change(replicaSets, 'default/orphan', set => ({
    ...set,
    metadata: { ...set.metadata, labels: { app: 'other' } },
  }))
  assert.equal(await ownersOf(), undefined)
  assert.equal((await plane.list(replicaSets)).length, 2)
  await plane.change(replicaSets, 'default/orphan', set => ({
    ...set,
    metadata: { ...set.metadata, labels: { app: 'web' } },
  }))
  assert.deepEqual(await ownersOf(), ['web'])
})

test('the deprecated rollback annotation triggers a rollback', async t => {
  const plane = await start(t)
  await plane.create(deployments, deploymentOf('a'))
  await runAllPods(plane)
  await changeSpec(plane, { template: templateOf('b') })
  await runAllPods(plane)
  await plane.change(deployments, key, each => ({
    ...each,
    metadata: {
      ...each.metadata,
      annotations: { ...each.metadata.annotations, 'deprecated.deployment.rollback.to': '0' },
    },
  }))
  await runAllPods(plane)
  assert.equal(await shapeOf(plane), 'a:3/3#3 b:0/0#2')
  const [deployment] = await plane.list(deployments)
  assert.equal(deployment?.metadata.annotations?.['deprecated.deployment.rollback.to'], undefined)
  const messages = await messagesOf(plane)
  assert.ok(
    messages.includes('DeploymentRollback: Rolled back deployment "web" to revision 1'),
    messages.join(),
  )
})

const quotaExceeded = forbidden({ group: '', kind: 'pods', name: 'web-x' }, 'exceeded quota: q')

test('the ReplicaFailure condition is copied to the Deployment', async t => {
  const admission = refuseCreation(plural => (plural === 'pods' ? quotaExceeded : undefined))
  const plane = await startTestControlPlane(t, controllers, { admission })
  await plane.create(deployments, deploymentOf('a', { progressDeadlineSeconds: 30 }))
  await plane.advance(40_000)
  assert.deepEqual(await conditionsOf(plane), [
    'Available False MinimumReplicasUnavailable',
    'Progressing False ProgressDeadlineExceeded',
    'ReplicaFailure True FailedCreate',
  ])
  const [deployment] = await plane.list(deployments)
  assert.equal(deployment?.status?.unavailableReplicas, 3)
})

test('a rejected ReplicaSet creation is reported and retried', async t => {
  let isRefused = true
  const admission = refuseCreation(plural =>
    isRefused && plural === 'replicasets' ? quotaExceeded : undefined,
  )
  const plane = await startTestControlPlane(t, controllers, { admission })
  await plane.create(deployments, deploymentOf('a'))
  assert.ok((await conditionsOf(plane)).includes('Progressing False ReplicaSetCreateError'))
  const [message] = await messagesOf(plane)
  assert.match(
    message ?? '',
    /^ReplicaSetCreateError: Failed to create new replica set "web-x": .*exceeded quota/,
  )
  const versionOf = async (): Promise<unknown> => (await plane.list(deployments))[0]?.metadata.resourceVersion
  const version = await versionOf()
  await plane.advance(60_000)
  assert.equal(await versionOf(), version)
  isRefused = false
  await plane.advance(120_000)
  await runAllPods(plane)
  assert.ok((await conditionsOf(plane)).includes('Progressing True NewReplicaSetAvailable'))
})

test('a Deployment in a terminating namespace creates no objects and events', async t => {
  const plane = await startTestControlPlane(t, controllers, { admission: await usualAdmission() })
  await plane.create(namespaces, { metadata: { name: 'gone' } })
  const web = deploymentOf('a')
  await plane.create(deployments, { ...web, metadata: { namespace: 'gone', name: 'web' } })
  await plane.run(plane.client.delete(namespaces, { name: 'gone' }))
  await plane.change(deployments, 'gone/web', each => ({
    ...each,
    spec: { ...each.spec!, template: templateOf('b') },
  }))
  await plane.advance(60_000)
  assert.equal((await plane.list(replicaSets)).length, 1)
  assert.ok((await conditionsOf(plane)).includes('Progressing True ReplicaSetUpdated'))
})
