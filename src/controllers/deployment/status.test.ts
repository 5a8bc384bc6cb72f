import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  Deployment,
  DeploymentCondition,
  DeploymentStatus,
  ReplicaSet,
} from '#/api/generated/apps/v1.ts'
import { formatTime } from '#/api/text/time.ts'
import { nextProgressCheckMs, planStatus, type StatusWorld } from './status.ts'

const nowMs = Date.UTC(2026, 0, 1, 1)
const before = formatTime(nowMs - 60_000)
const now = formatTime(nowMs)

/** `size replicas ready available`; the last three are from the status. */
function setFrom(name: string, counts: string, status: Partial<ReplicaSet['status']> = {}): ReplicaSet {
  const [size = 0, replicas = 0, readyReplicas = 0, availableReplicas = 0] = counts.split(' ').map(Number)
  return {
    metadata: { name },
    spec: { replicas: size, selector: {} },
    status: {
      replicas,
      readyReplicas,
      availableReplicas,
      terminatingReplicas: 0,
      observedGeneration: 1,
      ...status,
    },
  }
}

function conditionFrom(text: string): DeploymentCondition {
  const [type = '', status = '', reason = ''] = text.split(' ')
  return { type, status, reason, message: 'm', lastUpdateTime: before, lastTransitionTime: before }
}

interface Options {
  readonly spec?: Partial<Deployment['spec']>
  readonly status?: DeploymentStatus
  readonly conditions?: readonly string[]
}

function deploymentOf({ spec, status, conditions = [] }: Options = {}): Deployment {
  return {
    metadata: { name: 'web', generation: 4 },
    spec: {
      replicas: 3,
      progressDeadlineSeconds: 600,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
      selector: {},
      template: {},
      ...spec,
    },
    status: { ...status, ...(conditions.length > 0 && { conditions: conditions.map(conditionFrom) }) },
  }
}

function worldOf(
  deployment: Deployment,
  sets: Partial<StatusWorld> & { readonly old?: readonly ReplicaSet[] },
): StatusWorld {
  const { old = [], newReplicaSet, ...rest } = sets
  return {
    deployment,
    newReplicaSet,
    replicaSets: newReplicaSet ? [...old, newReplicaSet] : old,
    isRollout: true,
    nowMs,
    ...rest,
  }
}

/** `Type status reason`, with `*` if just updated and `!` if the status just changed. */
function notation(status: DeploymentStatus | undefined): string[] {
  return (status?.conditions ?? []).map(({ type, status, reason, lastUpdateTime, lastTransitionTime }) => {
    const marks = `${lastUpdateTime === now ? '*' : ''}${lastTransitionTime === now ? '!' : ''}`
    return `${type} ${status} ${reason}${marks}`
  })
}

test('the Deployment status sums all ReplicaSets and omits zeros', () => {
  const counts = (sets: Partial<StatusWorld> & { old?: ReplicaSet[] }): DeploymentStatus => {
    const { conditions: _, ...rest } = planStatus(worldOf(deploymentOf(), sets)) ?? {}
    return rest
  }
  assert.deepEqual(counts({}), { observedGeneration: 4, terminatingReplicas: 0 })
  const old = [setFrom('a', '2 3 2 1', { terminatingReplicas: 2 })]
  assert.deepEqual(counts({ old, newReplicaSet: setFrom('b', '2 2 1 0', { terminatingReplicas: 1 }) }), {
    observedGeneration: 4,
    replicas: 5,
    updatedReplicas: 2,
    readyReplicas: 3,
    availableReplicas: 1,
    unavailableReplicas: 3,
    terminatingReplicas: 3,
  })
  assert.equal(counts({ newReplicaSet: setFrom('b', '1 3 3 3') }).unavailableReplicas, undefined)
  const fresh: ReplicaSet = { metadata: { name: 'c' }, spec: { replicas: 1, selector: {} } }
  assert.equal(counts({ old, newReplicaSet: fresh }).terminatingReplicas, 2)
  const { terminatingReplicas: _, ...uncounted } = setFrom('a', '1 1 1 1').status!
  assert.equal(counts({ old: [{ ...old[0]!, status: uncounted }] }).terminatingReplicas, undefined)
})

test('a Deployment is available within maxUnavailable', () => {
  const check = (counts: string, expected: string, options: Options = {}): void => {
    const world = worldOf(deploymentOf({ ...options, spec: { ...options.spec, paused: false } }), {
      newReplicaSet: setFrom('b', counts),
      isRollout: false,
    })
    const status = planStatus({ ...world, deployment: { ...world.deployment } })
    assert.equal(
      notation(status).find(text => text.startsWith('Available')),
      expected,
    )
  }
  check('3 3 2 2', 'Available True MinimumReplicasAvailable*!')
  check('3 3 2 1', 'Available False MinimumReplicasUnavailable*!')
  check('3 3 3 2', 'Available False MinimumReplicasUnavailable*!', {
    spec: { strategy: { type: 'Recreate' } },
  })
  check('0 0 0 0', 'Available True MinimumReplicasAvailable*!', { spec: { replicas: 0 } })
  const conditions = ['Available True MinimumReplicasAvailable']
  check('3 3 2 2', 'Available True MinimumReplicasAvailable', { conditions })
  check('3 3 2 1', 'Available False MinimumReplicasUnavailable*!', { conditions })
})

test('the Progressing condition reports progress, completion and an exceeded deadline', () => {
  const available = 'Available True MinimumReplicasAvailable'
  const check = (options: Options, sets: Parameters<typeof worldOf>[1], expected: string): void => {
    const conditions = [available, ...(options.conditions ?? [])]
    const status = planStatus(worldOf(deploymentOf({ ...options, conditions }), sets))
    assert.deepEqual(
      notation(status)
        .filter(text => text.startsWith('Progressing'))
        .join(),
      expected,
    )
  }
  const stuck = { replicas: 4, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 3 }
  const old = [setFrom('a', '3 3 3 3')]
  const newReplicaSet = setFrom('b', '1 1 0 0')
  const waiting = 'Progressing True ReplicaSetUpdated'
  check({}, { creation: { outcome: 'created' }, newReplicaSet, old }, 'Progressing True ReplicaSetUpdated*!')
  check(
    { status: stuck },
    { creation: { outcome: 'created' }, newReplicaSet, old },
    'Progressing True NewReplicaSetCreated*!',
  )
  check({ status: stuck }, { newReplicaSet, old }, 'Progressing True FoundNewReplicaSet*!')
  check({ status: stuck, conditions: [waiting] }, { newReplicaSet, old }, waiting)
  check(
    { status: stuck, conditions: [waiting] },
    { old: [setFrom('a', '2 2 2 2')], newReplicaSet },
    `${waiting}*`,
  )
  check(
    { status: stuck, conditions: [waiting] },
    { old, newReplicaSet: setFrom('b', '1 1 1 0') },
    `${waiting}*`,
  )
  check(
    { status: stuck, conditions: [waiting] },
    { old, newReplicaSet: setFrom('b', '2 2 0 0') },
    `${waiting}*`,
  )
  const done = setFrom('b', '3 3 3 3')
  check(
    { status: stuck, conditions: [waiting] },
    { newReplicaSet: done },
    'Progressing True NewReplicaSetAvailable*',
  )
  // Pods that are recreated after completion do not count as progress.
  const complete = 'Progressing True NewReplicaSetAvailable'
  check({ conditions: [complete] }, { newReplicaSet: setFrom('b', '3 3 2 2') }, complete)
  check({ conditions: [complete], status: stuck }, { newReplicaSet, old }, complete)
  const short = { progressDeadlineSeconds: 30 }
  const exceeded = 'Progressing False ProgressDeadlineExceeded'
  check({ spec: short, status: stuck, conditions: [waiting] }, { newReplicaSet, old }, `${exceeded}*!`)
  check(
    { spec: { progressDeadlineSeconds: 60 }, status: stuck, conditions: [waiting] },
    { newReplicaSet, old },
    waiting,
  )
  check({ spec: short, status: stuck, conditions: [exceeded] }, { newReplicaSet, old }, exceeded)
  check({ spec: short, status: stuck, conditions: [exceeded] }, { newReplicaSet: done }, `${complete}*!`)
  check(
    { spec: short, status: stuck, conditions: [waiting] },
    { newReplicaSet, old, isRollout: false },
    waiting,
  )
  const forever = { progressDeadlineSeconds: 2 ** 31 - 1 }
  check({ spec: forever, status: stuck, conditions: [waiting] }, { newReplicaSet, old }, '')
  const failed = { outcome: 'failed', message: 'why' } as const
  check({ status: stuck }, { creation: failed, old }, 'Progressing False ReplicaSetCreateError*!')
  check(
    { status: stuck, conditions: ['Progressing False ReplicaSetCreateError'] },
    { creation: failed, old },
    'Progressing False ReplicaSetCreateError',
  )
})

test('pausing stops the progress deadline, and resuming restarts it', () => {
  const check = (paused: boolean, condition: string, expected: string): void => {
    const deployment = deploymentOf({ spec: { paused }, conditions: [condition] })
    const newReplicaSet = setFrom('b', '3 3 0 0')
    const world = worldOf(
      { ...deployment, status: { ...deployment.status, replicas: 3, updatedReplicas: 3 } },
      { newReplicaSet, isRollout: !paused },
    )
    assert.equal(
      notation(planStatus(world)).find(text => text.startsWith('Progressing')),
      expected,
    )
  }
  check(true, 'Progressing True ReplicaSetUpdated', 'Progressing Unknown DeploymentPaused*!')
  check(true, 'Progressing Unknown DeploymentPaused', 'Progressing Unknown DeploymentPaused')
  check(false, 'Progressing Unknown DeploymentPaused', 'Progressing Unknown DeploymentResumed*')
  check(true, 'Progressing False ProgressDeadlineExceeded', 'Progressing False ProgressDeadlineExceeded')
})

test('a ReplicaFailure is reported, of the new ReplicaSet first', () => {
  const failing = (name: string): ReplicaSet => {
    const conditions = [
      {
        type: 'ReplicaFailure',
        status: 'True',
        reason: 'FailedCreate',
        message: name,
        lastTransitionTime: before,
      },
    ]
    return setFrom(name, '3 0 0 0', { conditions })
  }
  const messageOf = (sets: Parameters<typeof worldOf>[1], conditions: string[] = []): string | undefined => {
    const status = planStatus(worldOf(deploymentOf({ conditions }), sets))
    return status?.conditions?.find(({ type }) => type === 'ReplicaFailure')?.message
  }
  assert.equal(messageOf({ old: [failing('a')], newReplicaSet: failing('b') }), 'b')
  assert.equal(messageOf({ old: [failing('a')], newReplicaSet: setFrom('b', '3 3 3 3') }), 'a')
  assert.equal(
    messageOf({ newReplicaSet: setFrom('b', '3 3 3 3') }, ['ReplicaFailure True FailedCreate']),
    undefined,
  )
  assert.equal(messageOf({ newReplicaSet: failing('b') }, ['ReplicaFailure True FailedCreate']), 'm')
})

test('collisionCount is incremented and kept', () => {
  const counted = (status: DeploymentStatus, creation?: StatusWorld['creation']): number | undefined => {
    return planStatus(worldOf(deploymentOf({ status }), { creation }))?.collisionCount
  }
  assert.equal(counted({}, { outcome: 'collided' }), 1)
  assert.equal(counted({ collisionCount: 2 }, { outcome: 'collided' }), 3)
  assert.equal(counted({ collisionCount: 2 }), 2)
  assert.equal(counted({}), undefined)
})

test('an unchanged Deployment status is the same object', () => {
  const newReplicaSet = setFrom('b', '3 3 3 3')
  const first = planStatus(worldOf(deploymentOf(), { newReplicaSet }))
  const again = planStatus({
    ...worldOf({ ...deploymentOf(), status: first! }, { newReplicaSet }),
    nowMs: nowMs + 90_000,
  })
  assert.equal(again, first)
})

test('the next progress check is after the deadline', () => {
  const check = (
    condition: string,
    spec: Partial<Deployment['spec']>,
    expected: number | undefined,
  ): void => {
    const deployment = deploymentOf({ spec, conditions: [condition], status: { replicas: 3 } })
    assert.equal(nextProgressCheckMs(deployment, deployment.status, nowMs), expected, condition)
  }
  check('Progressing True ReplicaSetUpdated', {}, 540_001)
  check('Progressing True ReplicaSetUpdated', { progressDeadlineSeconds: 10 }, 1)
  check('Progressing True ReplicaSetUpdated', { paused: true }, undefined)
  check('Progressing True NewReplicaSetAvailable', {}, undefined)
  check('Progressing False ProgressDeadlineExceeded', {}, undefined)
  check('Available True x', {}, undefined)
})
