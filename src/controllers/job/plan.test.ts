import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Job, JobStatus } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { addFinished, failuresOfIndex, noFailures, remainingBackoffMs, type Failures } from './backoff.ts'
import { countPods } from './pod-counts.ts'
import { planJob } from './plan.ts'
import { podOfJob } from './pod-of-job.ts'
import { completionIndexKey, failureCountKey, finishedAtMs, trackingFinalizer } from './tracked-pods.ts'
import { stored } from '../test-stored.ts'

const nowMs = Date.parse('2026-05-04T12:00:00Z')
const phases: Readonly<Record<string, string>> = {
  P: 'Pending',
  R: 'Running',
  T: 'Running',
  S: 'Succeeded',
  F: 'Failed',
}

/**
 * `2R` is running with index 2, `S` has succeeded without an index, `1T` is being deleted, `0F3` has failed
 * after three other failures of its index, `2f` has failed and is counted. Pods failed ten minutes ago, or
 * just now with `!`.
 */
function podOf(text: string, position: number): Stored<Pod> {
  const [, index, sign = '', before = '0', isNew] = /^(\d*)([A-Za-z])(\d*)(!?)$/.exec(text) ?? []
  const finishedAt = formatTime(nowMs - (isNew ? 0 : 600_000))
  const phase = phases[sign.toUpperCase()]!
  return stored({
    metadata: {
      namespace: 'default',
      name: `${text}-${position}`,
      uid: `${text}-${position}`,
      annotations: { ...(index && { [completionIndexKey]: index }), [failureCountKey]: before },
      ...(sign === sign.toUpperCase() && { finalizers: [trackingFinalizer] }),
      ...(sign === 'T' && { deletionTimestamp: finishedAt }),
    },
    status: {
      phase,
      ...(phase === 'Failed' && {
        containerStatuses: [
          {
            name: 'main',
            image: '',
            imageID: '',
            ready: false,
            restartCount: 0,
            state: { terminated: { exitCode: 1, finishedAt } },
          },
        ],
      }),
    },
  })
}

function podsOf(text: string): readonly Stored<Pod>[] {
  return text.split(' ').filter(Boolean).map(podOf)
}

interface Case {
  readonly spec: Partial<Job['spec']>
  readonly status?: JobStatus
  readonly pods?: string
  readonly failures?: Failures
}

function jobOf({ spec, status }: Pick<Case, 'spec' | 'status'>): Job {
  const complete = { parallelism: 1, backoffLimit: 6, template: {}, ...spec }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'work' },
    spec: complete,
    ...(status && { status }),
  }
}

/** `+` created pods, `-` deleted pods, `end` the reason, `wait` in seconds. */
function check(given: Case, expected: string): void {
  const job = jobOf(given)
  const pods = podsOf(given.pods ?? '')
  const podCounts = countPods(job, pods)
  const plan = planJob({ job, pods, podCounts, failures: given.failures ?? noFailures, nowMs })
  const actual = [
    ...plan.create.map(({ index, replaces }) => {
      return `+${index ?? ''}${replaces ? `(${replaces.metadata.name.split('-')[0]})` : ''}`
    }),
    ...plan.remove.map(({ metadata }) => `-${metadata.name.split('-')[0]}`),
    ...(plan.isFinalizerRemoved ? ['uncounted'] : []),
    ...(plan.outcome ? [`end ${plan.outcome.reason}`] : []),
    ...(plan.requeueAfterMs === undefined ? [] : [`wait ${plan.requeueAfterMs / 1_000}`]),
  ].join(' ')
  assert.equal(actual, expected, JSON.stringify(given))
}

test('planJob creates pods up to parallelism and remaining completions', () => {
  check({ spec: { completions: 5, parallelism: 2 } }, '+ +')
  check({ spec: { completions: 1, parallelism: 5 } }, '+')
  check({ spec: { completions: 5, parallelism: 2 }, pods: 'R' }, '+')
  check({ spec: { completions: 5, parallelism: 2 }, pods: 'R S S S S' }, '')
  check({ spec: { completions: 5, parallelism: 2 }, pods: 'R', status: { succeeded: 4 } }, '')
  check({ spec: { completions: 3, parallelism: 2 }, pods: 'R P R' }, '-P uncounted')
  check({ spec: { completions: 2, parallelism: 2 }, pods: 'R S S' }, '-R uncounted')
  check({ spec: { parallelism: 3 }, pods: 'R' }, '+ +')
  check({ spec: { parallelism: 3 }, pods: 'R S' }, '')
  check({ spec: { parallelism: 0, completions: 2 }, pods: 'R' }, '-R uncounted')
  check({ spec: { completions: 2, parallelism: 2, suspend: true }, pods: 'R R' }, '-R -R uncounted')
  check({ spec: { completions: 900, parallelism: 900 } }, Array.from({ length: 500 }, () => '+').join(' '))
})

test('an indexed job uses the first free indexes, each once', () => {
  const indexed = { completionMode: 'Indexed', completions: 5, parallelism: 3 }
  check({ spec: indexed }, '+0 +1 +2')
  check({ spec: indexed, pods: '1R', status: { completedIndexes: '0,3' } }, '+2 +4')
  check({ spec: indexed, pods: '0S 1R' }, '+2 +3')
  check({ spec: indexed, pods: '0R 1P 1R' }, '-1P uncounted')
  check({ spec: indexed, pods: '0R R 7R' }, '-7R -R uncounted')
  check({ spec: indexed, pods: '0R 1T' }, '+1 +2')
  check({ spec: { ...indexed, podReplacementPolicy: 'Failed' }, pods: '0R 1T' }, '+2')
  check({ spec: { ...indexed, completions: 2, parallelism: 2 }, status: { completedIndexes: '0-4' } }, '')
})

test('pod creation backs off after failures', () => {
  const spec = { completions: 2 }
  check({ spec, failures: { count: 1, lastMs: nowMs - 4_000 } }, 'wait 6')
  check({ spec, failures: { count: 1, lastMs: nowMs - 10_000 } }, '+')
  check({ spec, failures: { count: 40, lastMs: nowMs } }, 'wait 360')
  check({ spec: { ...spec, activeDeadlineSeconds: 3 }, failures: { count: 1, lastMs: nowMs } }, 'wait 3')
  const perIndex = { completionMode: 'Indexed', completions: 3, parallelism: 3, backoffLimitPerIndex: 4 }
  check({ spec: perIndex, pods: '0F 1F1! 2R' }, '+0(0F) wait 20')
  check({ spec: perIndex, pods: '0F 0F1 1R 2R' }, '+0(0F1)')
})

test('outcomes of a job: completion, limits, deadline and policies', () => {
  const check1 = (spec: Partial<Job['spec']>, pods: string, expected: string): void => {
    check({ spec: { completions: 3, parallelism: 3, ...spec }, pods }, expected)
  }
  check1({ backoffLimit: 1 }, 'R F F', '-R end BackoffLimitExceeded')
  check1({ backoffLimit: 2 }, 'R R R F F', '')
  check1({ backoffLimit: 0 }, 'R T', '-R end BackoffLimitExceeded')
  check1({ backoffLimit: 0, podReplacementPolicy: 'Failed' }, 'R R T', '')
  const perIndex = { completionMode: 'Indexed', backoffLimitPerIndex: 1, backoffLimit: 100 }
  check1(perIndex, '0R 1F1 2S', '')
  check1(perIndex, '0F1 1S 2S', 'end FailedIndexes')
  check1({ ...perIndex, maxFailedIndexes: 1 }, '0F1 1F1 2R', '-2R end MaxFailedIndexesExceeded')
  check1({ ...perIndex, maxFailedIndexes: 1 }, '0F1 1R 2R', '')
  const success = { completionMode: 'Indexed', successPolicy: { rules: [{ succeededIndexes: '0,2' }] } }
  check1(success, '0S 1R 2R', '')
  check1(success, '0S 1R 2S', '-1R end SuccessPolicy')
  check1(
    { ...success, successPolicy: { rules: [{ succeededCount: 1 }] } },
    '0R 1R 2S',
    '-0R -1R end SuccessPolicy',
  )
  const some = { rules: [{ succeededIndexes: '0-1', succeededCount: 1 }] }
  check1({ ...success, successPolicy: some }, '0R 1R 2S', '')
  check1({ ...success, successPolicy: some }, '0R 1S 2R', '-0R -2R end SuccessPolicy')
})

test('an outcome recorded in the status is final', () => {
  const conditions = (type: string): JobStatus => ({
    conditions: [{ type, status: 'True', reason: 'Named' }],
  })
  check({ spec: { completions: 2 }, pods: 'R', status: conditions('FailureTarget') }, '-R end Named')
  check({ spec: { backoffLimit: 0 }, pods: 'R F', status: conditions('SuccessCriteriaMet') }, '-R end Named')
})

test('container restarts count towards backoffLimit with restartPolicy OnFailure', () => {
  const template = { spec: { restartPolicy: 'OnFailure', containers: [] } }
  const restarted = (restartCount: number): Stored<Pod> => ({
    ...podOf('R', 0),
    status: {
      phase: 'Running',
      containerStatuses: [{ name: 'main', image: '', imageID: '', ready: true, restartCount }],
    },
  })
  const ends = (backoffLimit: number, restartCount: number): boolean => {
    const job = jobOf({ spec: { template, backoffLimit } })
    const pods = [restarted(restartCount)]
    return (
      planJob({ job, pods, podCounts: countPods(job, pods), failures: noFailures, nowMs }).outcome !==
      undefined
    )
  }
  assert.deepEqual([ends(3, 2), ends(3, 3), ends(0, 0), ends(0, 1)], [false, true, false, true])
})

test('the first matching rule of a pod failure policy decides', () => {
  const exit = (operator: string, values: readonly number[], action: string, containerName?: string) => ({
    action,
    onExitCodes: { operator, values, ...(containerName && { containerName }) },
  })
  const rules = (...list: readonly object[]): Partial<Job['spec']> => ({
    completions: 3,
    backoffLimit: 0,
    podReplacementPolicy: 'Failed',
    podFailurePolicy: { rules: list as never },
  })
  check({ spec: rules(exit('In', [1], 'FailJob')), pods: 'F' }, 'end PodFailurePolicy')
  check({ spec: rules(exit('In', [2], 'FailJob')), pods: 'F' }, 'end BackoffLimitExceeded')
  check({ spec: rules(exit('NotIn', [2], 'FailJob')), pods: 'F' }, 'end PodFailurePolicy')
  check({ spec: rules(exit('In', [1], 'FailJob', 'other')), pods: 'F' }, 'end BackoffLimitExceeded')
  check({ spec: rules(exit('In', [1], 'Ignore')), pods: 'F' }, '+')
  check({ spec: rules(exit('In', [1], 'Ignore'), exit('In', [1], 'FailJob')), pods: 'F' }, '+')
  check(
    { spec: rules(exit('In', [1], 'Count'), exit('In', [1], 'Ignore')), pods: 'F' },
    'end BackoffLimitExceeded',
  )
  const conditions = [{ type: 'DisruptionTarget', status: 'True' }]
  check(
    { spec: rules({ action: 'Ignore', onPodConditions: conditions }), pods: 'F' },
    'end BackoffLimitExceeded',
  )
  const perIndex = { completionMode: 'Indexed', backoffLimitPerIndex: 5, backoffLimit: 100, completions: 1 }
  check({ spec: { ...rules(exit('In', [1], 'FailIndex')), ...perIndex }, pods: '0F' }, 'end FailedIndexes')
})

test('consecutive failures are reset by a success', () => {
  const [old, recent] = [podOf('F', 0), podOf('F!', 1)]
  const success: Stored<Pod> = {
    ...podOf('S', 2),
    status: {
      phase: 'Succeeded',
      conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: formatTime(nowMs - 60_000) }],
    },
  }
  const lastMs = finishedAtMs(recent)
  const two = addFinished(noFailures, { succeeded: [], failed: [old, recent] })
  assert.deepEqual(two, { count: 2, lastMs })
  assert.deepEqual(addFinished(two, { succeeded: [], failed: [recent] }), { count: 3, lastMs })
  assert.deepEqual(addFinished(two, { succeeded: [success], failed: [old, recent] }), { count: 1, lastMs })
  assert.deepEqual(addFinished(two, { succeeded: [success], failed: [] }), noFailures)
  assert.equal(remainingBackoffMs(two, nowMs), 20_000)
  assert.equal(failuresOfIndex(podOf('0F3', 0)).count, 4)
})

test('a pod of an indexed job has its index and failure count', () => {
  const template = { spec: { containers: [{ name: 'main' }], initContainers: [{ name: 'first' }] } }
  const spec = { completionMode: 'Indexed', completions: 5, backoffLimitPerIndex: 3, template } as never
  const job = stored({ ...jobOf({ spec }), metadata: { name: 'n'.repeat(60), namespace: 'default' } })
  const pod = podOfJob(job, { index: 12, replaces: podOf('12F1', 0) })
  assert.equal(pod.metadata.generateName, `${'n'.repeat(54)}-12-`)
  assert.equal(pod.metadata.labels?.[completionIndexKey], '12')
  assert.deepEqual(pod.metadata.annotations, { [completionIndexKey]: '12', [failureCountKey]: '2' })
  assert.equal(pod.spec?.hostname, `${'n'.repeat(60)}-12`)
  for (const { env } of [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])]) {
    assert.equal(env?.[0]?.name, 'JOB_COMPLETION_INDEX')
    assert.equal(env?.[0]?.valueFrom?.fieldRef?.fieldPath, `metadata.labels['${completionIndexKey}']`)
  }
})
