import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HorizontalPodAutoscaler, MetricSpec, MetricTarget } from '#/api/generated/autoscaling/v2.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { parseQuantity, quantityMilliValue } from '#/api/text/quantity.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Sample } from './metrics.ts'
import { proposeReplicas, type MetricWorld, type MetricReading } from './proposal.ts'
import { stored } from '../test-stored.ts'

const nowMs = Date.UTC(2026, 0, 1)
const longAgoMs = nowMs - 3_600_000

/**
 * Pods by usage: `300m`; `-` has no sample. Suffixes: `p` pending, `f` failed, `d` being deleted, `u` never
 * ready, `y` recently started and not ready, `r` recently started and just ready, `b` started long ago, was
 * ready before, now not ready.
 */
function podsOf(text: string): {
  readonly pods: readonly Stored<Pod>[]
  readonly samples: ReadonlyMap<string, Sample>
} {
  const samples = new Map<string, Sample>()
  const pods = text
    .split(' ')
    .filter(Boolean)
    .map((word, index): Stored<Pod> => {
      const name = `p${index}`
      const [, usage = '', state = ''] = /^(-|[0-9]+(?:m|Mi)?)([a-z]?)$/.exec(word) ?? []
      if (usage !== '-') {
        samples.set(name, {
          milliValue: quantityMilliValue(parseQuantity(usage)),
          atMs: nowMs,
          windowMs: 30_000,
        })
      }
      const isYoung = state === 'y' || state === 'r'
      const startMs = isYoung ? nowMs - 60_000 : longAgoMs
      const sinceMs = { r: nowMs - 10_000, b: nowMs - 5_000 }[state] ?? startMs + 10_000
      const isReady = !['u', 'y', 'b', 'p'].includes(state)
      return stored({
        metadata: { name, ...(state === 'd' && { deletionTimestamp: formatTime(nowMs) }) },
        spec: { containers: [{ name: 'web', resources: { requests: { cpu: '1', memory: '100Mi' } } }] },
        status: {
          phase: { p: 'Pending', f: 'Failed' }[state] ?? 'Running',
          startTime: formatTime(startMs),
          conditions: [
            { type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: formatTime(sinceMs) },
          ],
        },
      })
    })
  return { pods, samples }
}

function worldOf(pods: readonly Stored<Pod>[], more: Partial<MetricWorld> = {}): MetricWorld {
  const autoscaler: HorizontalPodAutoscaler = {
    metadata: { namespace: 'default', name: 'web' },
    spec: { maxReplicas: 100, scaleTargetRef: { kind: 'Deployment', name: 'web' } },
  }
  return {
    autoscaler,
    currentReplicas: pods.length,
    statusReplicas: pods.length,
    pods,
    times: { cpuInitializationMs: 300_000, initialReadinessDelayMs: 30_000 },
    tolerance: 0.1,
    nowMs,
    ...more,
  }
}

function resourceMetric(name: string, target: Partial<MetricTarget>): MetricSpec {
  return { type: 'Resource', resource: { name, target: { type: '', ...target } } }
}

/** Replicas, then the value in the status; or the error message. */
function proposed(metric: MetricSpec, reading: MetricReading, world: MetricWorld): string {
  const result = proposeReplicas(metric, reading, world)
  if ('summary' in result) return result.message
  const { resource, containerResource, pods, object, external } = result.status
  const current = (resource ?? containerResource ?? pods ?? object ?? external)?.current
  const { averageUtilization, averageValue, value } = current ?? {}
  const shown = [averageUtilization === undefined ? '' : `${averageUtilization}%`, averageValue, value]
  return [result.replicas, ...shown.filter(Boolean)].join(' ')
}

test('replicas by resource utilization', () => {
  const cases: readonly [pods: string, percent: number, expected: string][] = [
    // Proportional to the ratio of usage to target, rounded up.
    ['200m', 100, '1 20% 200m'],
    ['1000m 1000m', 50, '4 100% 1'],
    ['250m 250m 250m 250m', 50, '2 25% 250m'],
    ['300m 500m 700m', 30, '5 50% 500m'],
    ['100m 300m 500m 250m 250m', 50, '3 28% 280m'],
    // Within the tolerance of 10% nothing changes.
    ['1010m 1030m 1020m', 100, '3 102% 1020m'],
    ['1100m', 100, '1 110% 1100m'],
    ['1110m', 100, '2 111% 1110m'],
    ['900m 900m', 100, '2 90% 900m'],
    ['890m 890m 890m 890m 890m 890m 890m 890m 890m 890m', 100, '9 89% 890m'],
    // Pods being deleted and failed pods count neither as usage nor as pods.
    ['1000m 1000m 9000md 9000mf', 50, '4 100% 1'],
    // Unready pods count as using nothing when scaling up, and are ignored when scaling down.
    ['1000m 1000m -p', 50, '4 100% 1'],
    ['600m 600m -p', 50, '3 60% 600m'],
    ['200m 200m 200m -p', 50, '2 20% 200m'],
    ['1000m 1000m 9000mu', 50, '4 100% 1'],
    ['1000m 1000m 9000my', 50, '4 100% 1'],
    // Ready for less than the window of its sample.
    ['1000m 1000m 9000mr', 50, '4 100% 1'],
    // Was ready before, so its usage counts.
    ['1000m 1000m 1000mb', 50, '6 100% 1'],
    // A pod without a sample counts as zero when scaling up and as its full request when scaling down,
    ['1000m 1000m -', 50, '4 100% 1'],
    ['600m 600m -', 50, '3 60% 600m'],
    ['200m 200m -', 50, '3 20% 200m'],
    ['200m 200m 200m 200m -', 50, '4 20% 200m'],
    // or as the target, if that is above 100%.
    ['200m -', 200, '2 20% 200m'],
    ['200m 200m 200m -', 200, '2 20% 200m'],
    [
      '-p -p',
      50,
      'failed to get cpu utilization: did not receive metrics for targeted pods (pods might be unready)',
    ],
    ['', 50, 'failed to get cpu utilization: no pods returned by selector while calculating replica count'],
  ]
  for (const [text, averageUtilization, expected] of cases) {
    const { pods, samples } = podsOf(text)
    const got = proposed(resourceMetric('cpu', { averageUtilization }), { samples }, worldOf(pods))
    assert.equal(got, expected, `${text} of ${averageUtilization}%`)
  }
})

test('memory ignores CPU initialization and is formatted in powers of 1024', () => {
  const { pods, samples } = podsOf('100Mi 100Mi 100Mir')
  const percent = proposed(resourceMetric('memory', { averageUtilization: 50 }), { samples }, worldOf(pods))
  assert.equal(percent, '6 100% 100Mi')
  const amount = proposed(resourceMetric('memory', { averageValue: '50Mi' }), { samples }, worldOf(pods))
  assert.equal(amount, '6 100Mi')
})

test('replicas by average value of resource and pods metrics', () => {
  const cases: readonly [pods: string, target: string, expected: string][] = [
    ['200m 200m', '100m', '4 200m'],
    ['50m 50m', '100m', '1 50m'],
    ['20 20 20', '15', '4 20'],
    ['105m 105m', '100m', '2 105m'],
    // A pod without a sample counts as the target when scaling down and as zero when scaling up.
    ['10m 10m 10m -', '100m', '2 10m'],
    ['200m -', '100m', '2 200m'],
    ['400m -', '100m', '4 400m'],
  ]
  for (const [text, averageValue, expected] of cases) {
    const { pods, samples } = podsOf(text)
    const target = { type: 'AverageValue', averageValue }
    const metric = { type: 'Pods', pods: { metric: { name: 'hits' }, target } }
    assert.equal(proposed(metric, { samples }, worldOf(pods)), expected, text)
    assert.equal(proposed(resourceMetric('cpu', target), { samples }, worldOf(pods)), expected, text)
  }
})

test('object and external metrics: by value or by average value per pod', () => {
  const cases: readonly [
    pods: string,
    milliValue: bigint,
    target: Partial<MetricTarget>,
    expected: string,
  ][] = [
    ['1 1 1', 20_000n, { value: '15' }, '4 20'],
    ['1 1 1', 15_500n, { value: '15' }, '3 15500m'],
    ['1 1 1', 5_000n, { value: '15' }, '1 5'],
    // The ratio applies to the ready pods only.
    ['1 1 1u 1p', 30_000n, { value: '15' }, '4 30'],
    [
      '',
      30_000n,
      { value: '15' },
      'unable to calculate ready pods: no pods returned by selector while calculating replica count',
    ],
    ['1 1', 400_000n, { averageValue: '100' }, '4 200'],
    ['1 1', 210_000n, { averageValue: '100' }, '2 105'],
    ['1 1 1 1', 100_000n, { averageValue: '100' }, '1 25'],
    ['1 1 1', 100_000n, { averageValue: '1' }, '100 33334m'],
    ['1', 10n ** 18n, { averageValue: '1m' }, '2147483647 1P'],
  ]
  for (const [text, milliValue, target, expected] of cases) {
    const { pods } = podsOf(text)
    const external = { metric: { name: 'queue' }, target: { type: '', ...target } }
    const object = { ...external, describedObject: { kind: 'Service', name: 'web' } }
    const label = `${text} ${milliValue}`
    assert.equal(proposed({ type: 'External', external }, { milliValue }, worldOf(pods)), expected, label)
    assert.equal(proposed({ type: 'Object', object }, { milliValue }, worldOf(pods)), expected, label)
  }
})

test('the behavior of an autoscaler may set its own tolerance', () => {
  const { pods, samples } = podsOf('1040m 1040m 1040m 1040m')
  const world = worldOf(pods)
  const { spec } = world.autoscaler
  const withTolerance = (behavior: typeof spec.behavior): string => {
    const autoscaler = { ...world.autoscaler, spec: { ...spec, behavior: behavior! } }
    return proposed(resourceMetric('cpu', { averageUtilization: 100 }), { samples }, { ...world, autoscaler })
  }
  assert.equal(withTolerance({}), '4 104% 1040m')
  assert.equal(withTolerance({ scaleDown: { tolerance: '0' } }), '4 104% 1040m')
  assert.equal(withTolerance({ scaleUp: { tolerance: '50m' } }), '4 104% 1040m')
  assert.equal(withTolerance({ scaleUp: { tolerance: '0.03' } }), '5 104% 1040m')
})

test('container resources, sidecars and pod-level requests are counted', () => {
  const pod = (spec: Pod['spec']): Stored<Pod> =>
    stored({ ...podsOf('1').pods[0], metadata: { name: 'p0' }, spec: spec! })
  const requests = (cpu: string): object => ({ resources: { requests: { cpu } } })
  const samples = new Map([['p0', { milliValue: 1_000n, atMs: nowMs, windowMs: 0 }]])
  const containers = [
    { name: 'web', ...requests('500m') },
    { name: 'log', ...requests('250m') },
  ]
  const sidecar = { name: 'mesh', restartPolicy: 'Always', ...requests('250m') }
  const whole = resourceMetric('cpu', { averageUtilization: 50 })
  const part = (container: string): MetricSpec => ({
    type: 'ContainerResource',
    containerResource: { name: 'cpu', container, target: { type: 'Utilization', averageUtilization: 50 } },
  })
  const check = (metric: MetricSpec, spec: Pod['spec'], expected: string): void => {
    assert.equal(proposed(metric, { samples }, worldOf([pod(spec)])), expected)
  }
  check(whole, { containers, initContainers: [sidecar, { name: 'once', ...requests('9') }] }, '2 100% 1')
  check(whole, { containers, resources: { requests: { cpu: '2' } } }, '1 50% 1')
  check(part('web'), { containers, resources: { requests: { cpu: '2' } } }, '4 200% 1')
  check(part('mesh'), { containers, initContainers: [sidecar] }, '8 400% 1')
  check(part('other'), { containers }, 'failed to get cpu utilization: container other not found in Pod p0')
  check(
    whole,
    { containers: [{ name: 'web' }] },
    'failed to get cpu utilization: missing request for cpu in container web of Pod p0',
  )
  check(
    whole,
    { containers: [{ name: 'web' }], resources: { requests: { memory: '1Mi' } } },
    'failed to get cpu utilization: missing pod-level request for cpu in Pod p0',
  )
})

test('unreadable metrics give the messages of Kubernetes', () => {
  const selector = {
    matchLabels: { b: '2', a: '1' },
    matchExpressions: [{ key: 'c', operator: 'In', values: ['x', 'y'] }],
  }
  const target = { type: 'AverageValue', averageValue: '1' }
  const describedObject = { kind: 'Service', name: 'web' }
  const cases: readonly [MetricSpec, reason: string, summary: string][] = [
    [
      resourceMetric('cpu', { averageUtilization: 50 }),
      'FailedGetResourceMetric',
      'failed to get cpu resource metric value: failed to get cpu utilization: ' +
        'unable to get metrics for resource cpu: gone',
    ],
    [
      { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'web', target } },
      'FailedGetContainerResourceMetric',
      'failed to get web container metric value: failed to get cpu usage: ' +
        'unable to get metrics for resource cpu: gone',
    ],
    [
      { type: 'Pods', pods: { metric: { name: 'hits' }, target } },
      'FailedGetPodsMetric',
      'failed to get pods metric value: unable to get metric hits: gone',
    ],
    [
      {
        type: 'Object',
        object: { metric: { name: 'hits' }, describedObject, target: { type: 'Value', value: '1' } },
      },
      'FailedGetObjectMetric',
      'failed to get object metric value: unable to get metric hits: Service on default web/gone',
    ],
    [
      { type: 'External', external: { metric: { name: 'queue', selector }, target } },
      'FailedGetExternalMetric',
      'failed to get queue external metric value: failed to get queue external metric: ' +
        'unable to get external metric default/queue/' +
        '&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:' +
        '[]LabelSelectorRequirement{LabelSelectorRequirement{Key:c,Operator:In,Values:[x y],},},}: gone',
    ],
    [
      { type: 'External', external: { metric: { name: 'queue' }, target: { type: 'Value', value: '1' } } },
      'FailedGetExternalMetric',
      'failed to get queue external metric value: failed to get external metric queue: ' +
        'unable to get external metric default/queue/nil: gone',
    ],
    [{ type: 'New' }, 'InvalidMetricSourceType', 'unknown metric source type "New"'],
  ]
  for (const [metric, reason, summary] of cases) {
    const result = proposeReplicas(metric, { failure: 'gone' }, worldOf([]))
    assert.deepEqual('summary' in result && [result.reason, result.summary], [reason, summary])
  }
})
