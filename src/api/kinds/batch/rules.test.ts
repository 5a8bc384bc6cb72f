import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Job } from '../../generated/batch/v1.ts'
import { container, template } from '../testdata/pods.ts'
import { underTest } from '../testdata/check-rules.ts'
import { jobRules } from './job-rules.ts'
import { batchRules } from './group.ts'

const jobs = underTest(batchRules['Job'])
const cronJobs = underTest(batchRules['CronJob'])
const metadata = { name: 'pi', uid: 'u1' }
const ending = template({ restartPolicy: 'Never' })

/** A job with a valid template and these spec fields. */
function job(fields: object = {}, status: object = {}): object {
  return { metadata, spec: { template: ending, ...fields }, status }
}

/** The job as the server stores it. */
function stored(fields: object = {}, status: object = {}): Job {
  return { ...(jobRules.prepareForCreate?.(jobs.withDefaults(job(fields)) as Job) as Job), status }
}

function cronJob(fields: object = {}, jobSpec: object = {}): object {
  const jobTemplate = { spec: { template: ending, ...jobSpec } }
  return { metadata: { name: 'pi' }, spec: { schedule: '* * * * *', jobTemplate, ...fields } }
}

test('defaults of Job', () => {
  const counts = (fields: object): object => {
    const { spec, metadata } = jobs.withDefaults(job(fields)) as Job
    assert.deepEqual(metadata.labels, { app: 'web' })
    const { template: _, ...rest } = spec ?? {}
    return rest
  }
  const common = {
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
    manualSelector: false,
  }
  assert.deepEqual(counts({}), { ...common, completions: 1, parallelism: 1, backoffLimit: 6 })
  assert.deepEqual(counts({ parallelism: 3 }), { ...common, parallelism: 3, backoffLimit: 6 })
  assert.deepEqual(counts({ completions: 3, backoffLimitPerIndex: 1 }), {
    ...common,
    completions: 3,
    parallelism: 1,
    backoffLimitPerIndex: 1,
    backoffLimit: 2_147_483_647,
  })
  const rule = { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }
  assert.deepEqual(counts({ podFailurePolicy: { rules: [rule] } }), {
    ...common,
    completions: 1,
    parallelism: 1,
    backoffLimit: 6,
    podReplacementPolicy: 'Failed',
    podFailurePolicy: {
      rules: [{ ...rule, onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
    },
  })
})

test('the server generates the selector and labels of a Job', () => {
  const { spec, status } = stored()
  assert.deepEqual(spec?.selector, { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u1' } })
  assert.deepEqual(spec?.template.metadata?.labels, {
    'app': 'web',
    'job-name': 'pi',
    'batch.kubernetes.io/job-name': 'pi',
    'controller-uid': 'u1',
    'batch.kubernetes.io/controller-uid': 'u1',
  })
  assert.deepEqual(status, {})
  // Labels that were defaulted from the template are those of the template.
  assert.deepEqual(stored().metadata.labels, spec?.template.metadata?.labels)
  const bare = stored({ template: { ...ending, metadata: {} } })
  assert.deepEqual(bare.metadata.labels, bare.spec?.template.metadata?.labels)
  jobs.check(job())
  jobs.check(
    job({ template: template({ restartPolicy: 'Never' }, { labels: { 'job-name': 'x' } }) }),
    'spec.template.metadata.labels[job-name]: Invalid value: {"job-name":"x"',
  )
  jobs.check(
    job({ selector: { matchLabels: { app: 'web' } } }),
    'spec.selector: Invalid value: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u1","app":"web"}}: `sel',
  )
  jobs.check(job({ manualSelector: true, selector: { matchLabels: { app: 'web' } } }))
  jobs.check(
    job({ manualSelector: true }),
    'spec.selector: Required value',
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  )
  jobs.check(
    job({ manualSelector: true, selector: { matchLabels: { app: 'x' } } }),
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
  )
})

test('validation of Job counts and restart policy', () => {
  const { check } = jobs
  const counts = [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
  ]
  for (const name of counts) {
    check(job({ [name]: -1 }), `spec.${name}: Invalid value: -1: must be greater than or equal to 0`)
  }
  check(
    job({ template: template() }),
    'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
  )
  check(
    job({ template: template({ restartPolicy: 'X' }) }),
    'spec.template.spec.restartPolicy: Unsupported value: "X"',
    'spec.template.spec.restartPolicy: Unsupported value: "X": supported values: "OnFailure", "Never"',
  )
  check(job({ managedBy: 'x' }), 'spec.managedBy: Invalid value: "x": must be a domain-prefixed path')
  check(
    job({ podReplacementPolicy: 'Now' }),
    'spec.podReplacementPolicy: Unsupported value: "Now": supported values: "Failed", "TerminatingOrFailed"',
  )
})

test('validation of indexed Jobs', () => {
  const { check } = jobs
  const indexed = (fields: object): object => job({ completionMode: 'Indexed', ...fields })
  check(indexed({ completions: 5, backoffLimitPerIndex: 1, maxFailedIndexes: 5 }))
  check(indexed({ parallelism: 5 }), 'spec.completions: Required value: when completion mode is Indexed')
  check(
    job({ completionMode: 'Any' }),
    'spec.completionMode: Unsupported value: "Any": supported values: "NonIndexed", "Indexed"',
  )
  check(
    job({ backoffLimitPerIndex: 1 }),
    'spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode',
  )
  check(
    indexed({ completions: 5, maxFailedIndexes: 6 }),
    'spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified',
    'spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions',
  )
  check(
    indexed({ completions: 5, parallelism: 100_001 }),
    'spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed',
  )
  check(
    indexed({ completions: 100_001, parallelism: 10_001, backoffLimitPerIndex: 1 }),
    'spec.maxFailedIndexes: Required value: must be specified when completions is above 100000',
    'spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000',
  )
  check(
    { ...indexed({ completions: 10 }), metadata: { ...metadata, name: 'a'.repeat(63) } },
    `metadata.name: Invalid value: "${'a'.repeat(63)}": will not able to create pod with invalid DNS label: aaa`,
  )
})

test('validation of Job podFailurePolicy', () => {
  const { check } = jobs
  const policy = (...rules: readonly object[]): object => job({ podFailurePolicy: { rules } })
  const place = 'spec.podFailurePolicy.rules[0]'
  const onExitCodes = { operator: 'In', values: [1, 2] }
  check(policy({ action: 'FailJob', onExitCodes }))
  check(
    policy({ action: 'FailJob', onExitCodes: { ...onExitCodes, containerName: 'x' } }),
    `${place}.onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names`,
  )
  check(
    policy({ action: 'Ignore', onExitCodes: { operator: 'In', values: [2, 0, 2] } }),
    `${place}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator`,
    `${place}.onExitCodes.values[2]: Duplicate value: 2`,
    `${place}.onExitCodes.values: Invalid value: [2,0,2]: must be ordered`,
  )
  check(
    policy({ action: 'FailIndex', onExitCodes }),
    `${place}.action: Invalid value: "FailIndex": requires the backoffLimit`,
  )
  check(
    policy({ onExitCodes: {} }),
    `${place}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`,
    `${place}.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]`,
    `${place}.onExitCodes.values: Invalid value: []: at least one value is required`,
  )
  check(policy({ action: 'Ignore' }), `${place}: Invalid value: `)
  check(
    policy({ action: 'Ignore', onPodConditions: [{ type: 'a b', status: 'Maybe' }] }),
    `${place}.onPodConditions[0].type: Invalid value: "a b"`,
    `${place}.onPodConditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"`,
  )
  check(
    job({ podFailurePolicy: { rules: [] }, template: template({ restartPolicy: 'OnFailure' }) }),
    'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is',
  )
})

test('validation of Job successPolicy', () => {
  const { check } = jobs
  const policy = (...rules: readonly object[]): object => {
    return job({ completionMode: 'Indexed', completions: 10, successPolicy: { rules } })
  }
  const place = 'spec.successPolicy.rules[0]'
  check(policy({ succeededIndexes: '0,2-4', succeededCount: 4 }))
  check(
    policy(),
    'spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy',
  )
  check(
    policy({}),
    `${place}: Required value: at least one of succeededCount or succeededIndexes must be specified`,
  )
  check(
    policy({ succeededCount: 11 }),
    `${place}.succeededCount: Invalid value: 11: must be less than or equal to 10 (the`,
  )
  check(
    policy({ succeededIndexes: '1', succeededCount: 2 }),
    `${place}.succeededCount: Invalid value: 2: must be less than or equal to 1 (the number of indexes in the sp`,
  )
  const wrong: Readonly<Record<string, string>> = {
    '10': 'too large index: "10"',
    'a': 'cannot convert string to integer for index: "a"',
    '3-1': 'non-increasing order, previous: 3, current: 1',
    '3,1': 'non-increasing order, previous: 3, current: 1',
    '1-2-3':
      'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts',
  }
  for (const [indexes, error] of Object.entries(wrong)) {
    check(
      policy({ succeededIndexes: indexes }),
      `${place}.succeededIndexes: Invalid value: "${indexes}": error parsing succeededIndexes: ${error}`,
    )
  }
  check(
    job({ successPolicy: { rules: [] } }),
    'spec.successPolicy: Invalid value: {"rules":[]}: requires indexed completion mode',
  )
})

test('mutable fields of Job', () => {
  const { checkUpdate } = jobs
  const old = stored()
  const after = (fields: object): object => ({ ...old, spec: { ...old.spec, ...fields } })
  checkUpdate(after({ parallelism: 5, suspend: true, backoffLimit: 1, ttlSecondsAfterFinished: 5 }), old)
  checkUpdate(after({ completions: 5 }), old, 'spec.completions: Invalid value: 5: field is immutable')
  checkUpdate(
    after({ managedBy: 'example.com/x' }),
    old,
    'spec.managedBy: Invalid value: "example.com/x": field is immutable',
  )
  const { template: oldTemplate } = old.spec ?? {}
  const renamed = { ...oldTemplate, spec: { ...oldTemplate?.spec, hostname: 'x' } }
  checkUpdate(after({ template: renamed }), old, 'spec.template: Invalid value: ')
  const indexed = stored({ completionMode: 'Indexed', completions: 3, parallelism: 3 })
  checkUpdate({ ...indexed, spec: { ...indexed.spec, completions: 5, parallelism: 5 } }, indexed)
  checkUpdate(
    { ...indexed, spec: { ...indexed.spec, completions: 5 } },
    indexed,
    'spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism',
  )
})

test('scheduling directives and resources of a suspended Job are mutable', () => {
  const { checkUpdate } = jobs
  const old = stored({ suspend: true })
  const withTemplate = (spec: object, job = old): Job => {
    const { template: oldTemplate } = job.spec ?? {}
    return {
      ...job,
      spec: { ...job.spec, template: { ...oldTemplate, spec: { ...oldTemplate?.spec, ...spec } } },
    } as Job
  }
  const affinity = {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}] } },
  }
  checkUpdate(withTemplate({ nodeSelector: { a: 'b' }, affinity, schedulingGates: [{ name: 'x' }] }), old)
  checkUpdate(withTemplate({ containers: [container({ resources: { requests: { cpu: '1' } } })] }), old)
  checkUpdate(
    withTemplate({ containers: [container({ image: 'x' })] }),
    old,
    'spec.template.spec: Invalid value: ',
  )
  const running = stored({ suspend: false })
  checkUpdate(withTemplate({ nodeSelector: { a: 'b' } }, running), running, 'spec.template: Invalid value: ')
  const stopping = { ...old, status: { startTime: '2026-01-01T00:00:00Z', active: 1 } }
  checkUpdate(
    withTemplate({ nodeSelector: { a: 'b' } }, stopping),
    stopping,
    'spec.template: Invalid value: ',
  )
})

test('validation of Job status', () => {
  const { checkStatus } = jobs
  const condition = (...types: readonly string[]): object[] => types.map(type => ({ type, status: 'True' }))
  const times = { startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T01:00:00Z' }
  const complete = { conditions: condition('SuccessCriteriaMet', 'Complete'), ...times, succeeded: 1 }
  checkStatus(stored({}, complete), stored())
  checkStatus(
    stored({}, { ...complete, conditions: condition('Complete') }),
    stored(),
    'status.conditions: Invalid value: ',
  )
  checkStatus(
    stored({}, { ...complete, completionTime: undefined }),
    stored(),
    'status.completionTime: Required value: completionTime is required for Complete jobs',
  )
  checkStatus(
    stored({}, { ...complete, completionTime: '2025-01-01T00:00:00Z' }),
    stored(),
    'status.completionTime: Invalid value: "2025-01-01T00:00:00Z": must be equal to or after `startTime`',
  )
  checkStatus(
    stored({}, { ...complete, active: 1 }),
    stored(),
    'status.active: Invalid value: 1: active>0 is invalid for',
  )
  checkStatus(
    stored({}, { conditions: condition('FailureTarget', 'Failed') }),
    stored(),
    'status.startTime: Required value: startTime is required for finished job',
  )
  checkStatus(
    stored({}, { ...times, succeeded: 1 }),
    stored({}, complete),
    'status.completionTime: Invalid value: "2026-01-01T01:00:00Z": cannot set completionTime when there is no Co',
    'status.conditions: Invalid value: ',
    'status.conditions: Invalid value: ',
  )
  checkStatus(
    stored({}, { failed: 1 }),
    stored({}, { failed: 2 }),
    'status.failed: Invalid value: 1: cannot decrease the failed',
  )
  checkStatus(
    stored({}, { succeeded: 1 }),
    stored({}, { succeeded: 2 }),
    'status.succeeded: Invalid value: 1: cannot decrease',
  )
  checkStatus(
    stored({}, { ready: 2, active: 1 }),
    stored(),
    'status.ready: Invalid value: 2: cannot set more ready pods than',
  )
  checkStatus(
    stored({}, { uncountedTerminatedPods: { succeeded: ['a'], failed: ['a', ''] } }),
    stored(),
    'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
    'status.uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty',
  )
  checkStatus(
    stored({}, { completedIndexes: '1' }),
    stored(),
    'status.completedIndexes: Invalid value: "1": error parsing completedIndexes: too large index: "1"',
    'status.completedIndexes: Invalid value: "1": cannot set non-empty completedIndexes when non-indexed complet',
  )
  const indexed = { completionMode: 'Indexed', completions: 5, backoffLimitPerIndex: 1 }
  checkStatus(
    stored(indexed, { completedIndexes: '0-2', failedIndexes: '2,3' }),
    stored(indexed),
    'status.failedIndexes: Invalid value: "2,3": failedIndexes and completedIndexes overlap at index: 2',
  )
})

test('defaults of CronJob', () => {
  const { spec } = cronJobs.withDefaults(cronJob()) as unknown as { spec: Record<string, unknown> }
  const { jobTemplate, ...rest } = spec
  assert.deepEqual(rest, {
    schedule: '* * * * *',
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  })
  assert.deepEqual(Object.keys((jobTemplate as { spec: object }).spec), ['template'])
})

test('validation of CronJob schedule, time zone and job template', () => {
  const { check, checkUpdate } = cronJobs
  check(cronJob())
  check(cronJob({ schedule: '' }), 'spec.schedule: Required value')
  check(
    cronJob({ schedule: '61 * * * *' }),
    'spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59)',
  )
  check(
    cronJob({ schedule: 'TZ=UTC * * * * *' }),
    'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field',
  )
  check(cronJob({ timeZone: 'Europe/Berlin' }))
  for (const timeZone of ['Mars/Base', '../etc/passwd', '+01:00', '-x']) {
    check(cronJob({ timeZone }), `spec.timeZone: Invalid value: "${timeZone}": unknown time zone ${timeZone}`)
  }
  check(
    cronJob({ timeZone: '' }),
    'spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string',
  )
  check(
    cronJob({ timeZone: 'Local' }),
    'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone',
  )
  check(
    cronJob({ concurrencyPolicy: 'Maybe' }),
    'spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", "Forbid", "Replace"',
  )
  check(
    cronJob({ startingDeadlineSeconds: -1, successfulJobsHistoryLimit: -1, failedJobsHistoryLimit: -1 }),
    'spec.startingDeadlineSeconds: Invalid value: -1',
    'spec.successfulJobsHistoryLimit: Invalid value: -1',
    'spec.failedJobsHistoryLimit: Invalid value: -1',
  )
  check(
    cronJob({}, { selector: {}, manualSelector: true }),
    'spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated',
    'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
  )
  check(
    cronJob({}, { template: template() }),
    'spec.jobTemplate.spec.template.spec.restartPolicy: Required value',
  )
  check(
    { ...cronJob(), metadata: { name: 'a'.repeat(53) } },
    `metadata.name: Invalid value: "${'a'.repeat(53)}": must be no more`,
  )
  checkUpdate(cronJob({ schedule: 'TZ=UTC 1 * * * *' }), cronJob({ schedule: 'TZ=UTC * * * * *' }))
  checkUpdate(cronJob({ timeZone: 'Gone/Now' }), cronJob({ timeZone: 'Gone/Now' }))
})

test('batch rules never throw on incomplete objects', () => {
  for (const kind of ['Job', 'CronJob']) {
    const { check, checkUpdate, checkStatus } = underTest(batchRules[kind])
    const rule = { onExitCodes: {}, onPodConditions: [{}] }
    const odd = {
      podFailurePolicy: { rules: [{}, rule] },
      successPolicy: {},
      completionMode: 'Indexed',
      template: {},
    }
    const specs = [
      undefined,
      {},
      odd,
      { jobTemplate: {} },
      { jobTemplate: { spec: odd } },
      { podFailurePolicy: {} },
    ]
    for (const spec of specs) {
      assert.throws(() => {
        check({ spec }, 'never')
      }, assert.AssertionError)
      assert.throws(() => {
        checkUpdate({ spec }, { spec: {} }, 'never')
      }, assert.AssertionError)
      assert.throws(() => {
        checkStatus({ spec }, { spec: {} }, 'never')
      }, assert.AssertionError)
    }
  }
})
