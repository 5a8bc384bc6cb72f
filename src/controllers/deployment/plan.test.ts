import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { rolloutLimitsOf } from './rollout-limits.ts'
import { planDeployment, type DeploymentPlan } from './plan.ts'
import { revisionAnnotation, replicasOf } from './revisions.ts'
import { stored } from '../test-stored.ts'

interface SetOptions {
  readonly size: number
  readonly available?: number
  readonly revision?: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly status?: Partial<NonNullable<ReplicaSet['status']>>
}

/** `image` determines both the template and the name. */
function setOf(
  image: string,
  { size, available = size, revision = '1', annotations, status }: SetOptions,
): Stored<ReplicaSet> {
  return stored({
    metadata: {
      name: `web-${image}`,
      uid: image,
      generation: 1,
      creationTimestamp: `2026-01-01T00:00:0${image.charCodeAt(0) % 10}Z`,
      annotations: { [revisionAnnotation]: revision, ...annotations },
    },
    spec: { replicas: size, selector: {}, template: templateOf(image) },
    status: { replicas: size, availableReplicas: available, observedGeneration: 1, ...status },
  })
}

function templateOf(image: string): NonNullable<ReplicaSet['spec']>['template'] {
  return { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } }
}

function deploymentOf(image: string, spec: Partial<Deployment['spec']> = {}): Stored<Deployment> {
  return stored({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'default', name: 'web', uid: 'u', generation: 1 },
    spec: {
      replicas: 3,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: { app: 'web' } },
      template: templateOf(image)!,
      ...spec,
    },
  })
}

/**
 * `+a3` creates a with three replicas, `a1>2` scales, `a*` changes only annotations or other fields, `-a`
 * deletes.
 */
function notation({ create, change, remove }: DeploymentPlan): string {
  const imageOf = (set: ReplicaSet): string => set.spec?.template?.spec?.containers[0]?.image ?? ''
  return [
    ...(create ? [`+${imageOf(create)}${replicasOf(create)}`] : []),
    ...change.map(({ before, after }) => {
      const [from, to] = [replicasOf(before), replicasOf(after)]
      return from === to ? `${imageOf(before)}*` : `${imageOf(before)}${from}>${to}`
    }),
    ...remove.map(set => `-${imageOf(set)}`),
  ].join(' ')
}

function check(
  deployment: Stored<Deployment>,
  replicaSets: readonly Stored<ReplicaSet>[],
  expected: string,
  running: readonly string[] = [],
): DeploymentPlan {
  const plan = planDeployment({
    deployment,
    replicaSets,
    hasRunningPods: set => running.includes(set.metadata.uid),
  })
  assert.equal(notation(plan), expected)
  return plan
}

const recreate = { strategy: { type: 'Recreate' } }

test('the first ReplicaSet is created with all replicas, labels and annotations', () => {
  const deployment = {
    ...deploymentOf('a', { minReadySeconds: 5 }),
    metadata: {
      ...deploymentOf('a').metadata,
      annotations: {
        'team': 'shop',
        'kubectl.kubernetes.io/last-applied-configuration': '{}',
        'deployment.kubernetes.io/revision': '7',
      },
    },
  }
  const { create } = check(deployment, [], '+a3')
  const hash = create?.metadata.labels?.['pod-template-hash'] ?? ''
  assert.match(hash, /^[456789bcdf]{1,10}$/)
  assert.equal(create?.metadata.name, `web-${hash}`)
  assert.deepEqual(create?.metadata.labels, { 'app': 'web', 'pod-template-hash': hash })
  assert.deepEqual(create?.metadata.annotations, {
    'team': 'shop',
    'deployment.kubernetes.io/revision': '1',
    'deployment.kubernetes.io/desired-replicas': '3',
    'deployment.kubernetes.io/max-replicas': '4',
  })
  assert.deepEqual(create?.metadata.ownerReferences?.[0], {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    name: 'web',
    uid: 'u',
    controller: true,
    blockOwnerDeletion: true,
  })
  assert.deepEqual(create?.spec?.selector, { matchLabels: { 'app': 'web', 'pod-template-hash': hash } })
  assert.deepEqual(create?.spec?.template?.metadata?.labels, create?.metadata.labels)
  assert.equal(create?.spec?.minReadySeconds, 5)
})

test('a long name is truncated for the hash, and a collision changes the hash', () => {
  const long = stored({ ...deploymentOf('a'), metadata: { name: 'n'.repeat(253) } })
  const first = check(long, [], '+a3').create?.metadata.name ?? ''
  const second = check({ ...long, status: { collisionCount: 1 } }, [], '+a3').create?.metadata.name ?? ''
  assert.ok(first.length <= 253 && second.length <= 253)
  assert.notEqual(first, second)
})

test('a rolling update creates the new ReplicaSet, scales down old ones and increments the revision', () => {
  const { create } = check(deploymentOf('b'), [setOf('a', { size: 3, revision: '4' })], '+b1')
  assert.equal(create?.metadata.annotations?.[revisionAnnotation], '5')
  check(deploymentOf('b'), [setOf('a', { size: 3, available: 1 })], '+b1')
  const loose = { rollingUpdate: { maxSurge: 0, maxUnavailable: 2 }, type: 'RollingUpdate' }
  check(deploymentOf('b', { strategy: loose }), [setOf('a', { size: 3 })], '+b0 a3>1')
  const both = [setOf('a', { size: 3, revision: '1' }), setOf('b', { size: 1, revision: '2' })]
  check(deploymentOf('b'), both, 'a3>2')
})

test('a rollback gives the old ReplicaSet the next revision and keeps its history', () => {
  const sets = [setOf('a', { size: 0, revision: '1' }), setOf('b', { size: 3, revision: '2' })]
  const { change } = check(deploymentOf('a'), sets, 'a0>1')
  const annotations = change[0]?.after.metadata.annotations
  assert.equal(annotations?.[revisionAnnotation], '3')
  assert.equal(annotations?.['deployment.kubernetes.io/revision-history'], '1')
  const again = setOf('a', {
    size: 3,
    revision: '3',
    annotations: { 'deployment.kubernetes.io/revision-history': '1' },
  })
  const later = check(deploymentOf('a'), [again, setOf('b', { size: 0, revision: '4' })], 'a*')
  assert.equal(
    later.change[0]?.after.metadata.annotations?.['deployment.kubernetes.io/revision-history'],
    '1,3',
  )
})

test('an invalid revision annotation is kept', () => {
  check(deploymentOf('a'), [setOf('a', { size: 3, revision: 'x' })], '')
  const revisionAfter = (revision: string): string | undefined => {
    const { create } = check(deploymentOf('b'), [setOf('a', { size: 3, revision })], '+b1')
    return create?.metadata.annotations?.[revisionAnnotation]
  }
  assert.equal(revisionAfter('99999999999999999999'), '1')
  assert.equal(revisionAfter('3546343826724305832'), '3546343826724305833')
  assert.equal(revisionAfter('9223372036854775807'), '9223372036854775807')
})

test('annotations and minReadySeconds are copied to the new ReplicaSet', () => {
  const deployment = stored({
    ...deploymentOf('a'),
    metadata: { name: 'web', annotations: { team: 'shop' } },
  })
  const set = setOf('a', { size: 3 })
  assert.equal(check(deployment, [set], 'a*').change[0]?.after.metadata.annotations?.['team'], 'shop')
  const patient = check(deploymentOf('a', { minReadySeconds: 9 }), [set], 'a*')
  assert.equal(patient.change[0]?.after.spec?.minReadySeconds, 9)
  check(deploymentOf('a'), [setOf('a', { size: 3, annotations: { other: 'x' } })], '')
})

test('Recreate scales up only after the last old pod has stopped', () => {
  const old = setOf('a', { size: 3 })
  const gone = setOf('a', { size: 0 })
  check(deploymentOf('a', recreate), [], '+a3')
  check(deploymentOf('b', recreate), [old], 'a3>0', ['a'])
  check(deploymentOf('b', recreate), [setOf('a', { size: 0, status: { replicas: 1 } })], '')
  check(deploymentOf('b', recreate), [setOf('a', { size: 0, status: { observedGeneration: 0 } })], '')
  check(deploymentOf('b', recreate), [gone], '', ['a'])
  check(deploymentOf('b', recreate), [gone], '+b3')
  check(deploymentOf('b', recreate), [gone, setOf('b', { size: 0, revision: '2' })], 'b0>3')
  check(deploymentOf('b', recreate), [gone, setOf('b', { size: 0, revision: '2' })], 'b0>3', ['b'])
})

test('a paused Deployment is scaled and cleaned up, but not rolled out', () => {
  const paused = { paused: true }
  const plan = check(deploymentOf('b', paused), [setOf('a', { size: 2 })], 'a2>3')
  assert.equal(plan.isRollout, false)
  check(deploymentOf('b', { ...paused, revisionHistoryLimit: 0 }), [setOf('a', { size: 0 })], 'a0>3')
  const two = [setOf('a', { size: 0 }), setOf('b', { size: 3, revision: '2' })]
  const counted = {
    'deployment.kubernetes.io/desired-replicas': '3',
    'deployment.kubernetes.io/max-replicas': '4',
  }
  const noted = [two[0]!, setOf('b', { size: 3, revision: '2', annotations: counted })]
  check(deploymentOf('b', { ...paused, revisionHistoryLimit: 0 }), noted, '-a')
})

test('a scaled Deployment is scaled before the rollout continues', () => {
  const noted = (desired: string) => ({
    annotations: { 'deployment.kubernetes.io/desired-replicas': desired },
  })
  const plan = check(deploymentOf('b'), [setOf('a', { size: 2, ...noted('2') })], 'a2>3')
  assert.equal(plan.isRollout, false)
  // The ReplicaSet was scaled directly: its annotation is corrected so that the rollout can continue.
  check(deploymentOf('b'), [setOf('a', { size: 3, ...noted('2') })], 'a*')
  check(deploymentOf('b', recreate), [setOf('a', { size: 1, ...noted('2') })], 'a1>3')
  // With Recreate there is no proportional scaling.
  const sets = [setOf('a', { size: 1, ...noted('2') }), setOf('b', { size: 1, revision: '2', ...noted('2') })]
  check(deploymentOf('b', recreate), sets, 'a1>0')
})

test('old ReplicaSets beyond revisionHistoryLimit are deleted after the rollout, oldest first', () => {
  const old = (image: string, revision: string, status = {}) => setOf(image, { size: 0, revision, status })
  const newReplicaSet = setOf('z', { size: 3, revision: '9' })
  const limit = (revisionHistoryLimit: number) => deploymentOf('z', { revisionHistoryLimit })
  check(limit(2), [old('c', '3'), old('a', '1'), old('b', '2'), newReplicaSet], '-a')
  check(limit(0), [old('c', '3'), old('a', '1'), newReplicaSet], '-a -c')
  check(limit(10), [old('a', '1'), newReplicaSet], '')
  check(limit(2 ** 31 - 1), [old('a', '1'), newReplicaSet], '')
  check(limit(0), [old('a', '1', { replicas: 1 }), newReplicaSet], '')
  check(limit(0), [old('a', '1', { observedGeneration: 0 }), old('b', '2'), newReplicaSet], '-b')
  check(limit(0), [old('a', '1'), setOf('z', { size: 3, revision: '9', available: 2 })], '')
  const dying = { ...old('a', '1'), metadata: { ...old('a', '1').metadata, deletionTimestamp: 'x' } }
  check(limit(0), [dying, newReplicaSet], '')
})

test('a Deployment being deleted is not changed', () => {
  const deployment = deploymentOf('b')
  check(
    { ...deployment, metadata: { ...deployment.metadata, deletionTimestamp: 'x' } },
    [setOf('a', { size: 1 })],
    '',
  )
})

/** A ReplicaSet, its actual pods, and the status that its controller wrote last. */
interface Modelled {
  set: Stored<ReplicaSet>
  pods: number
  ready: number
}

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant({ do: 'roll' as const }) },
    {
      weight: 8,
      arbitrary: fc.record({ do: fc.constantFrom('pass', 'act', 'ready', 'fail'), which: fc.nat(2) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('template' as const), image: fc.nat(2) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('bounds' as const), surge: fc.nat(2), missing: fc.nat(2) }),
    },
  ),
  { maxLength: 60, size: 'max' },
)

/** Acts as the ReplicaSet controller: deletes pods that are not ready first. */
function act(each: Modelled): void {
  each.pods = replicasOf(each.set)
  each.ready = Math.min(each.ready, each.pods)
}

function observe(each: Modelled): void {
  const { pods, ready, set } = each
  const observedGeneration = set.metadata.generation ?? 0
  each.set = { ...set, status: { replicas: pods, availableReplicas: ready, observedGeneration } }
}

function roll(deployment: Stored<Deployment>, world: Modelled[]): void {
  const limits = rolloutLimitsOf(deployment)
  const totalReplicas = (): number => world.reduce((total, { set }) => total + replicasOf(set), 0)
  const staying = (): number =>
    world.reduce((total, { set, ready }) => total + Math.min(ready, replicasOf(set)), 0)
  const wantedMax = Math.max(totalReplicas(), limits.maxReplicas)
  const minAvailable = Math.min(staying(), limits.minAvailable)
  const plan = planDeployment({
    deployment,
    replicaSets: world.map(({ set }) => set),
    hasRunningPods: set => world.some(each => each.set === set && each.pods > 0),
  })
  const { create } = plan
  if (create) {
    const metadata = {
      ...create.metadata,
      generation: 1,
      creationTimestamp: `2026-01-01T00:00:1${world.length}Z`,
    }
    world.push({ set: stored({ ...create, metadata }), pods: 0, ready: 0 })
    assert.ok(totalReplicas() <= wantedMax, 'too many are wanted')
  }
  for (const { before, after } of plan.change) {
    const each = world.find(({ set }) => set === before)!
    const generation = Number(before.metadata.generation) + (replicasOf(before) === replicasOf(after) ? 0 : 1)
    each.set = stored({ ...after, metadata: { ...after.metadata, generation } })
    assert.ok(totalReplicas() <= wantedMax, 'too many are wanted')
    assert.ok(staying() >= minAvailable, 'too few stay available')
  }
}

/**
 * One event of a ReplicaSet. Pods becoming ready or failing are observed at once, deleted pods possibly
 * later.
 */
function happen(what: string, each: Modelled): void {
  if (what === 'ready') each.ready = each.pods
  if (what === 'fail') each.ready = Math.max(0, each.ready - 1)
  // The ReplicaSet controller writes the status before it acts, so the counts may be too high.
  if (what !== 'act') observe(each)
  act(each)
}

function settle(deployment: Stored<Deployment>, world: Modelled[]): void {
  for (let round = 0; round < 40; round++) {
    roll(deployment, world)
    for (const each of world) {
      act(each)
      each.ready = each.pods
      observe(each)
    }
  }
}

test('the rollout limits hold at every write, and the rollout completes after any events', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 5 }), steps, (replicas, events) => {
      const world: Modelled[] = []
      let image = 0
      let rollingUpdate = { maxSurge: 1, maxUnavailable: 1 }
      const deployment = (): Stored<Deployment> => {
        const strategy = { type: 'RollingUpdate', rollingUpdate }
        return deploymentOf(String.fromCharCode(97 + image), { replicas, strategy })
      }
      settle(deployment(), world)
      for (const event of events) {
        if (event.do === 'roll') roll(deployment(), world)
        else if ('image' in event) image = event.image
        else if ('surge' in event) rollingUpdate = { maxSurge: event.surge, maxUnavailable: event.missing }
        else if ('which' in event) happen(event.do, world[event.which % world.length]!)
      }
      settle(deployment(), world)
      const active = world.filter(({ set }) => replicasOf(set) > 0)
      assert.deepEqual(
        active.map(({ set, ready }) => [set.spec?.template?.spec?.containers[0]?.image, ready]),
        [[String.fromCharCode(97 + image), replicas]],
      )
    }),
    { numRuns: 300 },
  )
})
