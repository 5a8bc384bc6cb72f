import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type * as v1 from '../../generated/autoscaling/v1.ts'
import type * as v2 from '../../generated/autoscaling/v2.ts'
import { equalJson } from '../../text/json-value.ts'
import type { KubernetesObject } from '../../metadata.ts'
import { conversions } from './conversion.ts'

const prefix = 'autoscaling.alpha.kubernetes.io/'

function convert(object: KubernetesObject, to: string): KubernetesObject {
  const key = `${object.apiVersion} autoscaling/${to} HorizontalPodAutoscaler`
  return (conversions[key] as (object: KubernetesObject) => KubernetesObject)(object)
}

function toV1(object: v2.HorizontalPodAutoscaler): v1.HorizontalPodAutoscaler {
  return convert(object, 'v1') as v1.HorizontalPodAutoscaler
}

function toV2(object: v1.HorizontalPodAutoscaler): v2.HorizontalPodAutoscaler {
  return convert(object, 'v2') as v2.HorizontalPodAutoscaler
}

function old(spec: object, annotations?: Readonly<Record<string, string>>): v1.HorizontalPodAutoscaler {
  return {
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata: { ...(annotations && { annotations }) },
    spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'web' }, ...spec },
  }
}

test('CPU utilization is a field in HPA v1 and a metric in v2', () => {
  const converted = toV2(old({ targetCPUUtilizationPercentage: 50 }))
  const target = { type: 'Utilization', averageUtilization: 50 }
  assert.deepEqual(converted.spec.metrics, [{ type: 'Resource', resource: { name: 'cpu', target } }])
  assert.deepEqual(converted.metadata, {})
  assert.deepEqual(toV1(converted), old({ targetCPUUtilizationPercentage: 50 }))
  assert.equal(toV2(old({})).spec.metrics?.[0]?.resource?.target.averageUtilization, 80)
})

test("HPA v1 stores v2 fields in Kubernetes' annotations", () => {
  const object: v2.HorizontalPodAutoscaler = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { annotations: { mine: 'kept', [`${prefix}metrics`]: 'stale' } },
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { kind: 'Deployment', name: 'web' },
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 5 } },
        },
        {
          type: 'Pods',
          pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '1k' } },
        },
      ],
      behavior: { scaleDown: { policies: [{ type: 'Pods', value: 1, periodSeconds: 15 }] } },
    },
    status: { desiredReplicas: 2, conditions: [{ type: 'AbleToScale', status: 'True' }] },
  }
  const { metadata, spec, status } = toV1(object)
  assert.equal(spec.targetCPUUtilizationPercentage, 5)
  assert.deepEqual(status, { currentReplicas: 0, desiredReplicas: 2 })
  assert.deepEqual(metadata.annotations, {
    mine: 'kept',
    [`${prefix}metrics`]: '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1k"}}]',
    [`${prefix}behavior`]:
      '{"ScaleDown":{"Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":15}],"Tolerance":null}}',
    [`${prefix}conditions`]: '[{"type":"AbleToScale","status":"True"}]',
  })
})

test('HPA annotations written by Kubernetes convert to v2', () => {
  const { spec, status } = toV2(
    old(
      { targetCPUUtilizationPercentage: 5 },
      {
        [`${prefix}metrics`]:
          '[{"type":"Object","object":{"target":{"kind":"Service","name":"web"},' +
          '"metricName":"m","targetValue":"0","averageValue":"7"}}]',
        [`${prefix}behavior`]:
          '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":9,"Policies":null}}',
        [`${prefix}current-metrics`]:
          '[{"type":"Resource","resource":{"name":"cpu","currentAverageValue":"3"}}]',
      },
    ),
  )
  const describedObject = { kind: 'Service', name: 'web' }
  const target = { type: 'AverageValue', averageValue: '7' }
  assert.deepEqual(spec.metrics?.[0], {
    type: 'Object',
    object: { describedObject, metric: { name: 'm' }, target },
  })
  assert.equal(spec.metrics?.length, 2)
  assert.deepEqual(spec.behavior, { scaleDown: { stabilizationWindowSeconds: 9 } })
  const resource = { name: 'cpu', current: { averageValue: '3' } }
  assert.deepEqual(status?.currentMetrics, [{ type: 'Resource', resource }])
})

test('malformed HPA annotations are dropped', () => {
  const texts = [
    '',
    'null',
    '{',
    '7',
    '[7]',
    '[{"type":7}]',
    '[{"type":"Pods","pods":{"metricName":[]}}]',
    '['.repeat(100_000),
    '{"__proto__":{"polluted":1}}',
    '[{"__proto__":{"type":"Pods"}}]',
  ]
  for (const text of texts) {
    const annotations = Object.fromEntries(
      ['metrics', 'behavior', 'current-metrics', 'conditions'].map(name => [prefix + name, text]),
    )
    const { metadata, spec } = toV2(old({ targetCPUUtilizationPercentage: 5 }, annotations))
    assert.deepEqual(metadata, {})
    assert.ok(
      spec.metrics?.every(metric => metric.type === 'Resource' || Object.keys(metric).length === 0),
      text,
    )
    assert.equal(spec.behavior, undefined)
  }
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
})

const amount = fc.constantFrom('1', '500m', '10Gi')
const target = fc.record(
  {
    type: fc.constantFrom('Utilization', 'Value', 'AverageValue'),
    averageUtilization: fc.integer({ min: 1, max: 100 }),
    averageValue: amount,
    value: amount,
  },
  { requiredKeys: ['type'] },
)
const current = fc.record(
  { averageUtilization: fc.nat(), averageValue: amount, value: amount },
  { requiredKeys: [] },
)
const identifier = fc.record(
  {
    name: fc.constantFrom('m', 'n'),
    selector: fc.constant({ matchLabels: { a: 'b' } }),
  },
  { requiredKeys: ['name'] },
)
const describedObject = fc.constant({ kind: 'Service', name: 'web', apiVersion: 'v1' })
const name = fc.constantFrom('cpu', 'memory')
const container = fc.constant('app')

/** Metrics with a target, as in the spec, or with current values, as in the status. */
function metricsWith(values: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown[]> {
  const source = (type: string, key: string, fields: Record<string, fc.Arbitrary<unknown>>) => {
    return fc.record({ ...fields, ...values }).map(each => ({ type, [key]: each }))
  }
  return fc.array(
    fc.oneof(
      source('Object', 'object', { describedObject, metric: identifier }),
      source('Pods', 'pods', { metric: identifier }),
      source('Resource', 'resource', { name }),
      source('ContainerResource', 'containerResource', { name, container }),
      source('External', 'external', { metric: identifier }),
    ),
    { minLength: 1, maxLength: 5 },
  )
}

const behavior = fc
  .record(
    {
      scaleUp: fc.constant({
        selectPolicy: 'Max',
        policies: [{ type: 'Pods', value: 1, periodSeconds: 15 }],
      }),
      scaleDown: fc.constant({ stabilizationWindowSeconds: 5, tolerance: '100m' }),
    },
    { requiredKeys: [] },
  )
  .filter(each => Object.keys(each).length > 0)

const autoscalers = fc.record(
  {
    apiVersion: fc.constant('autoscaling/v2'),
    kind: fc.constant('HorizontalPodAutoscaler'),
    metadata: fc.record(
      { name: fc.constant('web'), annotations: fc.constant({ a: 'b' }) },
      { requiredKeys: ['name'] },
    ),
    spec: fc.record(
      {
        scaleTargetRef: fc.constant({ kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' }),
        maxReplicas: fc.nat(),
        minReplicas: fc.nat(),
        metrics: metricsWith({ target }),
        behavior,
      },
      { requiredKeys: ['scaleTargetRef', 'maxReplicas', 'metrics'] },
    ),
    status: fc.record(
      {
        currentReplicas: fc.nat(),
        desiredReplicas: fc.nat(),
        observedGeneration: fc.nat(),
        lastScaleTime: fc.constant('2026-01-01T00:00:00Z'),
        currentMetrics: metricsWith({ current }),
        conditions: fc.constant([{ type: 'ScalingActive', status: 'True', reason: 'ValidMetricFound' }]),
      },
      { requiredKeys: ['currentReplicas', 'desiredReplicas'] },
    ),
  },
  { requiredKeys: ['apiVersion', 'kind', 'metadata', 'spec'] },
)

test('HPA round trips between versions keep everything but the order of metrics', () => {
  fc.assert(
    fc.property(autoscalers, given => {
      const object = structuredClone(given) as unknown as v2.HorizontalPodAutoscaler
      const back = toV2(toV1(object))
      const { metrics = [] } = back.spec
      const { metrics: before = [] } = object.spec
      assert.equal(metrics.length, before.length)
      for (const metric of before) assert.ok(metrics.some(each => equalJson(each, metric)))
      assert.deepEqual({ ...back, spec: { ...back.spec, metrics: before } }, object)
    }),
    { numRuns: 300 },
  )
})
