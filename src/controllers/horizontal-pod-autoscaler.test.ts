import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { deployments, statefulSets } from '#/api/generated/apps/v1-resources.ts'
import type { HorizontalPodAutoscaler, MetricSpec } from '#/api/generated/autoscaling/v2.ts'
import { horizontalPodAutoscalers } from '#/api/generated/autoscaling/v2-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { events, pods } from '#/api/generated/core/v1-resources.ts'
import { keyOf } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { ControllerContext } from './controller.ts'
import { deploymentController } from './deployment.ts'
import { horizontalPodAutoscalerController } from './horizontal-pod-autoscaler.ts'
import type { Metrics } from './horizontal-pod-autoscaler/metrics.ts'
import { replicaSetController } from './replica-set.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

const labels = { app: 'web' }
const cpu: MetricSpec = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
}
const external: MetricSpec = {
  type: 'External',
  external: { metric: { name: 'queue' }, target: { type: 'AverageValue', averageValue: '10' } },
}

function autoscalerOf(
  spec: Partial<HorizontalPodAutoscaler['spec']> = {},
  name = 'web',
): HorizontalPodAutoscaler {
  return {
    metadata: { namespace: 'default', name },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      minReplicas: 1,
      maxReplicas: 10,
      metrics: [cpu],
      ...spec,
    },
  }
}

/** Usage per pod and length of the queue; undefined if the metric is unavailable. */
interface Numbers {
  milliCores: bigint | undefined
  queue: bigint | undefined
  /** Called while metrics are being read. */
  meanwhile?: () => Promise<void>
}

function metricsOf(numbers: Numbers, { client, platform }: ControllerContext): Metrics {
  const unknown = (): Promise<never> => Promise.reject(new Error('metrics unavailable'))
  return {
    resource: async ({ selector }) => {
      const { milliCores: milliValue } = numbers
      if (milliValue === undefined) return unknown()
      await numbers.meanwhile?.()
      const found = await client.list(pods, { namespace: 'default', labelSelector: selector })
      const sample = { milliValue, atMs: platform.clock.now(), windowMs: 0 }
      return new Map(found.items.map(pod => [pod.metadata.name, sample]))
    },
    pods: unknown,
    object: unknown,
    external: async () => (numbers.queue === undefined ? unknown() : [numbers.queue]),
  }
}

interface Scene {
  readonly plane: TestControlPlane
  readonly numbers: Numbers
  /** Advances time; new pods become ready. */
  readonly pass: (ms: number) => Promise<void>
  readonly replicas: () => Promise<number | undefined>
  readonly autoscaler: (name?: string) => Promise<HorizontalPodAutoscaler | undefined>
}

async function start(t: TestContext, replicas = 2): Promise<Scene> {
  const numbers: Numbers = { milliCores: 500n, queue: undefined }
  const plane = await startTestControlPlane(t, [
    deploymentController,
    replicaSetController,
    horizontalPodAutoscalerController({ metrics: context => metricsOf(numbers, context) }),
  ])
  return { numbers, ...(await scene(plane, replicas)) }
}

async function scene(plane: TestControlPlane, replicas: number): Promise<Omit<Scene, 'numbers'>> {
  const containers = [{ name: 'web', image: 'web', resources: { requests: { cpu: '1' } } }]
  await plane.create(deployments, {
    metadata: { namespace: 'default', name: 'web' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  })
  const startPods = async (): Promise<void> => {
    for (const pod of await plane.list(pods)) {
      if (pod.status?.phase === 'Running') continue
      await plane.changeStatus(pods, keyOf(pod), each => runningSince(each, plane.platform.clock.now()))
    }
  }
  const find = async (name = 'web'): Promise<HorizontalPodAutoscaler | undefined> => {
    return (await plane.list(horizontalPodAutoscalers)).find(each => each.metadata.name === name)
  }
  await startPods()
  return {
    plane,
    pass: async ms => {
      for (let passed = 0; passed < ms; passed += 15_000) {
        await plane.advance(Math.min(15_000, ms - passed))
        await startPods()
      }
    },
    replicas: async () => (await plane.list(deployments))[0]?.spec?.replicas,
    autoscaler: find,
  }
}

function runningSince(pod: Pod, nowMs: number): Pod {
  const time = formatTime(nowMs)
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: time }]
  return { ...pod, status: { ...pod.status, phase: 'Running', startTime: time, conditions } }
}

function conditionsOf(autoscaler: HorizontalPodAutoscaler | undefined): readonly string[] {
  return (autoscaler?.status?.conditions ?? []).map(
    ({ type, status, reason }) => `${type}=${status} ${reason}`,
  )
}

async function eventsOf(plane: TestControlPlane): Promise<readonly string[]> {
  const all = await plane.list(events)
  return all
    .filter(({ involvedObject }) => involvedObject.kind === 'HorizontalPodAutoscaler')
    .map(({ reason, message }) => `${reason}: ${message}`)
}

test('a target is scaled up with its load, and down after five minutes', async t => {
  const { plane, numbers, pass, replicas, autoscaler } = await start(t)
  await plane.create(horizontalPodAutoscalers, autoscalerOf())
  assert.equal(await replicas(), 2)
  const calm = await autoscaler()
  assert.deepEqual(conditionsOf(calm), [
    'AbleToScale=True ReadyForNewScale',
    'ScalingActive=True ValidMetricFound',
    'ScalingLimited=False DesiredWithinRange',
  ])
  const { currentReplicas, desiredReplicas, currentMetrics } = calm?.status ?? {}
  assert.deepEqual([currentReplicas, desiredReplicas], [2, 2])
  const current = { averageUtilization: 50, averageValue: '500m' }
  assert.deepEqual(currentMetrics, [{ type: 'Resource', resource: { name: 'cpu', current } }])

  numbers.milliCores = 1_000n
  await pass(16_000)
  assert.equal(await replicas(), 4)
  const grown = await autoscaler()
  assert.ok(grown?.status?.lastScaleTime)
  assert.equal(conditionsOf(grown)[0], 'AbleToScale=True SucceededRescale')
  assert.deepEqual(await eventsOf(plane), [
    'SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target',
  ])
  // The load per pod does not decrease, so the target grows up to `maxReplicas`.
  await pass(60_000)
  assert.equal(await replicas(), 10)
  assert.equal(conditionsOf(await autoscaler())[2], 'ScalingLimited=True TooManyReplicas')

  numbers.milliCores = 100n
  await pass(270_000)
  assert.equal(await replicas(), 10)
  assert.equal(conditionsOf(await autoscaler())[0], 'AbleToScale=True ScaleDownStabilized')
  await pass(60_000)
  assert.equal(await replicas(), 2)
  assert.ok(
    (await eventsOf(plane)).includes('SuccessfulRescale: New size: 2; reason: All metrics below target'),
  )
})

test('an unchanged autoscaler causes no writes', async t => {
  const { plane, pass, autoscaler } = await start(t)
  await plane.create(horizontalPodAutoscalers, autoscalerOf())
  const version = (await autoscaler())?.metadata.resourceVersion
  await pass(120_000)
  assert.equal((await autoscaler())?.metadata.resourceVersion, version)
})

test('scaling policies hold over time', async t => {
  const { plane, numbers, pass, replicas } = await start(t)
  const policies = [{ type: 'Pods', value: 1, periodSeconds: 60 }]
  await plane.create(
    horizontalPodAutoscalers,
    autoscalerOf({ behavior: { scaleUp: { policies }, scaleDown: { selectPolicy: 'Disabled' } } }),
  )
  numbers.milliCores = 2_000n
  const sizes: (number | undefined)[] = []
  for (let minutes = 0; minutes < 4; minutes++) {
    await pass(60_000)
    sizes.push(await replicas())
  }
  assert.deepEqual(sizes, [3, 4, 5, 6])
  numbers.milliCores = 1n
  await pass(400_000)
  assert.equal(await replicas(), 6)
})

test('the highest proposal wins, and nothing is scaled down while a metric is unknown', async t => {
  const { plane, numbers, pass, replicas, autoscaler } = await start(t, 4)
  numbers.queue = 80_000n
  await plane.create(horizontalPodAutoscalers, autoscalerOf({ metrics: [cpu, external] }))
  await pass(20_000)
  assert.equal(await replicas(), 8)
  assert.deepEqual(await eventsOf(plane), [
    'SuccessfulRescale: New size: 8; reason: external metric queue(nil) above target',
  ])
  numbers.milliCores = undefined
  numbers.queue = 10_000n
  await pass(400_000)
  assert.equal(await replicas(), 8)
  const status = (await autoscaler())?.status
  const active = status?.conditions?.find(({ type }) => type === 'ScalingActive')
  assert.deepEqual(
    [active?.status, active?.reason, active?.message],
    [
      'False',
      'FailedGetResourceMetric',
      'the HPA was unable to compute the replica count: ' +
        'failed to get cpu utilization: unable to get metrics for resource cpu: metrics unavailable',
    ],
  )
  const current = { averageValue: '1250m' }
  assert.deepEqual(status?.currentMetrics, [
    { type: '' },
    { type: 'External', external: { metric: { name: 'queue' }, current } },
  ])
  assert.ok(
    (await eventsOf(plane)).includes(
      'FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 2), first error is: ' +
        'failed to get cpu resource metric value: failed to get cpu utilization: ' +
        'unable to get metrics for resource cpu: metrics unavailable',
    ),
  )
  // The available metric proposes more replicas.
  numbers.queue = 100_000n
  await pass(20_000)
  assert.equal(await replicas(), 10)
})

test('minReplicas and maxReplicas hold without metrics, and a target at zero is ignored', async t => {
  const { plane, numbers, pass, replicas, autoscaler } = await start(t, 2)
  numbers.milliCores = undefined
  await plane.create(horizontalPodAutoscalers, autoscalerOf({ minReplicas: 4, maxReplicas: 6 }))
  assert.equal(await replicas(), 4)
  const scaleTo = (size: number): Promise<unknown> => {
    return plane.change(
      deployments,
      'default/web',
      each => ({ ...each, spec: { ...each.spec, replicas: size } }) as typeof each,
    )
  }
  await scaleTo(9)
  await pass(15_000)
  assert.equal(await replicas(), 6)
  assert.deepEqual(
    (await eventsOf(plane)).filter(text => text.startsWith('SuccessfulRescale')),
    [
      'SuccessfulRescale: New size: 4; reason: Current number of replicas below Spec.MinReplicas',
      'SuccessfulRescale: New size: 6; reason: Current number of replicas above Spec.MaxReplicas',
    ],
  )
  await scaleTo(0)
  await pass(30_000)
  assert.equal(await replicas(), 0)
  const stopped = await autoscaler()
  assert.equal(stopped?.status?.desiredReplicas, 0)
  assert.ok(conditionsOf(stopped).includes('ScalingActive=False ScalingDisabled'))
})

test('a missing or unscalable target is reported and retried', async t => {
  const { plane, autoscaler } = await start(t)
  const cases = {
    gone: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'gone' },
    fixed: { apiVersion: 'batch/v1', kind: 'Job', name: 'web' },
    unknown: { apiVersion: 'example.com/v1', kind: 'Thing', name: 'web' },
  }
  for (const [name, scaleTargetRef] of Object.entries(cases))
    await plane.create(horizontalPodAutoscalers, autoscalerOf({ scaleTargetRef }, name))
  const messageOf = async (name: string): Promise<string | undefined> => {
    const [condition] = (await autoscaler(name))?.status?.conditions ?? []
    assert.deepEqual(
      [condition?.type, condition?.status, condition?.reason],
      ['AbleToScale', 'False', 'FailedGetScale'],
    )
    return condition?.message?.replace(
      "the HPA controller was unable to get the target's current scale: ",
      '',
    )
  }
  assert.equal(await messageOf('gone'), 'deployments.apps "gone" not found')
  assert.equal(await messageOf('fixed'), 'the server could not find the requested resource')
  assert.equal(await messageOf('unknown'), 'no matches for kind "Thing" in group "example.com"')
  await plane.change(horizontalPodAutoscalers, 'default/gone', each => ({
    ...each,
    spec: autoscalerOf().spec,
  }))
  assert.equal(conditionsOf(await autoscaler('gone'))[0], 'AbleToScale=True ReadyForNewScale')
})

test('two autoscalers that select the same pods do nothing', async t => {
  const { plane, numbers, pass, replicas, autoscaler } = await start(t)
  await plane.create(horizontalPodAutoscalers, autoscalerOf({}, 'a'))
  await plane.create(horizontalPodAutoscalers, autoscalerOf({}, 'b'))
  numbers.milliCores = 2_000n
  await pass(60_000)
  assert.equal(await replicas(), 2)
  const active = (await autoscaler('a'))?.status?.conditions?.find(({ type }) => type === 'ScalingActive')
  assert.equal(active?.reason, 'AmbiguousSelector')
  assert.equal(
    active?.message,
    'pods by selector app=web are controlled by multiple HPAs: [{a default} {b default}]',
  )
  await plane.run(plane.client.delete(horizontalPodAutoscalers, { namespace: 'default', name: 'b' }))
  await pass(16_000)
  assert.equal(await replicas(), 4)
})

test('without a metrics API the messages of Kubernetes are recorded', async t => {
  const plane = await startTestControlPlane(t, [
    deploymentController,
    replicaSetController,
    horizontalPodAutoscalerController(),
  ])
  const { replicas, autoscaler } = await scene(plane, 3)
  const describedObject = { apiVersion: 'v1', kind: 'Service', name: 'web' }
  const hits = { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '1' } }
  const metrics: readonly MetricSpec[] = [
    cpu,
    { type: 'Pods', pods: hits },
    { type: 'Object', object: { ...hits, describedObject } },
    external,
  ]
  await plane.create(horizontalPodAutoscalers, autoscalerOf({ metrics }))
  const noResources =
    'failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics ' +
    'from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)'
  const noCustom =
    'unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered'
  const noExternal =
    'unable to fetch metrics from external metrics API: ' +
    'the server could not find the requested resource (get queue.external.metrics.k8s.io)'
  const active = (await autoscaler())?.status?.conditions?.find(({ type }) => type === 'ScalingActive')
  assert.equal(active?.message, `the HPA was unable to compute the replica count: ${noResources}`)
  assert.deepEqual(await eventsOf(plane), [
    `FailedGetResourceMetric: ${noResources}`,
    `FailedGetPodsMetric: unable to get metric hits: ${noCustom}`,
    `FailedGetObjectMetric: unable to get metric hits: Service on default web/${noCustom}`,
    `FailedGetExternalMetric: unable to get external metric default/queue/nil: ${noExternal}`,
    'FailedComputeMetricsReplicas: invalid metrics (4 invalid out of 4), first error is: ' +
      `failed to get cpu resource metric value: ${noResources}`,
  ])
  assert.equal(await replicas(), 3)
})

test('conflicting writes are retried and keep foreign fields', async t => {
  const { plane, numbers, pass, replicas, autoscaler } = await start(t)
  await plane.create(horizontalPodAutoscalers, autoscalerOf())
  const at = { namespace: 'default', name: 'web' }
  const patch = { type: 'merge', patch: { metadata: { annotations: { by: 'another' } } } } as const
  numbers.meanwhile = async () => {
    await plane.client.patch(deployments, at, patch)
    await plane.client.patch(horizontalPodAutoscalers, at, patch)
  }
  numbers.milliCores = 1_000n
  await pass(15_000)
  assert.equal(await replicas(), 4)
  assert.deepEqual((await autoscaler())?.metadata.annotations, { by: 'another' })
  assert.equal((await autoscaler())?.status?.desiredReplicas, 4)
  assert.equal((await plane.list(deployments))[0]?.metadata.annotations?.['by'], 'another')
})

test('any resource with a scale subresource can be a target', async t => {
  const numbers: Numbers = { milliCores: undefined, queue: 30_000n }
  const plane = await startTestControlPlane(t, [
    horizontalPodAutoscalerController({ metrics: context => metricsOf(numbers, context) }),
  ])
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } }
  await plane.create(statefulSets, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { replicas: 1, serviceName: 'web', selector: { matchLabels: labels }, template },
  })
  await plane.changeStatus(statefulSets, 'default/web', each => ({ ...each, status: { replicas: 1 } }))
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web' }
  await plane.create(horizontalPodAutoscalers, autoscalerOf({ scaleTargetRef, metrics: [external] }))
  assert.equal((await plane.list(statefulSets))[0]?.spec?.replicas, 3)
})
