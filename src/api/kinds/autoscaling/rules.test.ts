import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { autoscalingRules } from './group.ts'

const { check, checkUpdate, checkStatus, withDefaults } = underTest(
  autoscalingRules['HorizontalPodAutoscaler'],
)

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }

function autoscaler(spec: object): object {
  return { apiVersion: 'autoscaling/v2', spec: { scaleTargetRef, maxReplicas: 5, ...spec } }
}

function metric(type: string, source: object): object {
  return autoscaler({ metrics: [{ type, [type.charAt(0).toLowerCase() + type.slice(1)]: source }] })
}

const cpu = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
}

test('a HorizontalPodAutoscaler defaults minReplicas to 1 and scales on CPU', () => {
  assert.deepEqual(withDefaults(autoscaler({})), autoscaler({ minReplicas: 1, metrics: [cpu] }))
  const given = { minReplicas: 2, metrics: [{ type: 'Pods' }] }
  assert.deepEqual(withDefaults(autoscaler(given)), autoscaler(given))
  const old = { apiVersion: 'autoscaling/v1', spec: { scaleTargetRef, maxReplicas: 5 } }
  assert.deepEqual(withDefaults(old), { ...old, spec: { ...old.spec, minReplicas: 1 } })
})

test('scaling behavior is defaulted if set', () => {
  const policies = [{ type: 'Percent', value: 100, periodSeconds: 15 }]
  const scaleUp = {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, ...policies],
  }
  const scaleDown = { selectPolicy: 'Max', policies }
  const filled = (behavior: object) => withDefaults(autoscaler({ minReplicas: 1, metrics: [cpu], behavior }))
  assert.deepEqual(
    filled({}),
    autoscaler({ minReplicas: 1, metrics: [cpu], behavior: { scaleUp, scaleDown } }),
  )
  const mine = { scaleDown: { selectPolicy: 'Min', stabilizationWindowSeconds: 60, tolerance: '0.2' } }
  assert.deepEqual(
    filled(mine),
    autoscaler({
      minReplicas: 1,
      metrics: [cpu],
      behavior: { scaleUp, scaleDown: { ...mine.scaleDown, policies } },
    }),
  )
})

test('validation of minReplicas and maxReplicas', () => {
  check(autoscaler({}))
  check(
    autoscaler({ maxReplicas: 0 }),
    'spec.maxReplicas: Required value: must be set and greater than 0',
    'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
  )
  check(
    autoscaler({ minReplicas: 6 }),
    'spec.maxReplicas: Invalid value: 5: must be greater than or equal to `',
  )
  check(
    autoscaler({ maxReplicas: -1, minReplicas: -2 }),
    'spec.minReplicas: Invalid value: -2: must be greater than or equal to 1',
    'spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1',
  )
  check(
    autoscaler({ minReplicas: 0 }),
    'spec.minReplicas: Invalid value: 0',
    'spec.metrics: Forbidden: must specify at least one Object or External metric',
  )
})

test('validation of scaleTargetRef', () => {
  const target = (change: object) => autoscaler({ scaleTargetRef: { ...scaleTargetRef, ...change } })
  check(
    target({ apiVersion: '' }),
    'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
  )
  check(target({ apiVersion: 'v1', kind: 'ReplicationController' }))
  check(
    target({ apiVersion: 'a/b/c' }),
    'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
  )
  check(
    target({ kind: '..', name: 'a%b' }),
    'spec.scaleTargetRef.kind: Invalid value: "..": may not be \'..\'',
    'spec.scaleTargetRef.name: Invalid value: "a%b": may not contain \'%\'',
  )
  check(
    {},
    'spec.maxReplicas: Required value',
    'spec.maxReplicas: Invalid value',
    'spec.scaleTargetRef.kind: Required value',
    'spec.scaleTargetRef.name: Required value',
    'spec.scaleTargetRef.apiVersion: Invalid value',
  )
  checkUpdate(target({ apiVersion: 'v1' }), target({ apiVersion: 'v1' }))
  checkUpdate(target({ apiVersion: 'v1' }), target({}), 'spec.scaleTargetRef.apiVersion: Invalid value: "v1"')
})

test('a metric requires exactly the source of its type', () => {
  const field = 'spec.metrics[0]'
  check(
    autoscaler({ metrics: [{}] }),
    `${field}.type: Required value: must specify a metric source type`,
    `${field}.type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods"`,
    `${field}.type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods"`,
  )
  const unknown = `${field}.type: Unsupported value: "toString"`
  check(autoscaler({ metrics: [{ type: 'toString' }] }), unknown, unknown)
  check(
    autoscaler({ metrics: [{ type: 'Pods' }] }),
    `${field}.pods: Required value: must populate information for the given metric source`,
  )
  const { resource } = cpu
  check(autoscaler({ metrics: [{ type: 'Pods', resource }] }), `${field}.pods: Required value`)
  check(
    autoscaler({ metrics: [{ ...cpu, containerResource: {} }] }),
    `${field}.containerResource: Forbidden: must populate the given metric source only`,
  )
})

test('validation of metric targets', () => {
  const field = 'spec.metrics[0]'
  const value = { type: 'Value', value: '10' }
  const average = { type: 'AverageValue', averageValue: '10' }
  const named = { metric: { name: 'requests' } }
  check(
    metric('Resource', { target: { type: 'Utilization', averageUtilization: 0 } }),
    `${field}.resource.name: Required value: must specify a resource name`,
    `${field}.resource.target.averageUtilization: Invalid value: 0: must be greater than 0`,
  )
  check(
    metric('Resource', { name: 'cpu', target: { type: 'x' } }),
    `${field}.resource.target.type: Invalid value: "x": must be either Utilization, Value, or AverageValue`,
    `${field}.resource.target.averageUtilization: Required value: must set either a target raw value or`,
  )
  check(
    metric('Resource', { name: 'cpu', target: { ...average, averageUtilization: 5 } }),
    `${field}.resource.target.averageValue: Forbidden: may not set both a target raw value and a target`,
  )
  check(
    metric('ContainerResource', { target: average }),
    `${field}.containerResource.name: Required value: must specify a resource name`,
    `${field}.containerResource.container: Required value: must specify a container`,
  )
  check(
    metric('ContainerResource', { name: 'bogus', container: 'App', target: average }),
    `${field}.containerResource.name: Invalid value: "bogus": must be a standard resource type`,
    `${field}.containerResource.name: Invalid value: "bogus": must be a standard resource for containers`,
    `${field}.containerResource.container: Invalid value: "App"`,
  )
  check(
    metric('Pods', { ...named, target: value }),
    `${field}.pods.target.averageValue: Required value: must specify a positive target averageValue`,
  )
  check(
    metric('Pods', { metric: { name: 'a/b' }, target: { ...average, averageValue: '-1' } }),
    `${field}.pods.metric.name: Invalid value: "a/b"`,
    `${field}.pods.target.averageValue: Invalid value: "-1": must be positive`,
  )
  check(metric('External', { ...named, target: value }))
  check(
    metric('External', { target: { ...value, averageValue: '1' } }),
    `${field}.external.metric.name: Required value: must specify a metric name`,
    `${field}.external.target.value: Forbidden: may not set both a target value for metric and a per-pod target`,
  )
  check(
    metric('External', named),
    `${field}.external.target.type: Required value`,
    `${field}.external.target.type: Invalid value: ""`,
    `${field}.external.target.averageValue: Required value: must set either a target value for metric or`,
  )
  check(metric('Object', { ...named, target: value, describedObject: { kind: 'Service', name: 'web' } }))
  check(
    metric('Object', { ...named, target: { type: 'Value' } }),
    `${field}.object.describedObject.kind: Required value`,
    `${field}.object.describedObject.name: Required value`,
    `${field}.object.target.averageValue: Required value: must set either a target value or averageValue`,
  )
})

test('validation of scaling policies', () => {
  const scaleUp = (rules: object) => autoscaler({ behavior: { scaleUp: rules } })
  const field = 'spec.behavior.scaleUp'
  check(scaleUp({ policies: [] }), `${field}.policies: Required value: must specify at least one Policy`)
  check(
    scaleUp({ stabilizationWindowSeconds: -1, selectPolicy: 'All', tolerance: '-0.1' }),
    `${field}.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero`,
    `${field}.selectPolicy: Unsupported value: "All": supported values: "Disabled", "Max", "Min"`,
    `${field}.tolerance: Invalid value: "-0.1": must be greater than or equal to 0`,
  )
  check(
    scaleUp({ stabilizationWindowSeconds: 3601, tolerance: '0' }),
    `${field}.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600`,
  )
  check(
    scaleUp({ policies: [{ periodSeconds: 1801 }, { type: 'Pods', value: 1 }] }),
    `${field}.policies[0].type: Unsupported value: "": supported values: "Percent", "Pods"`,
    `${field}.policies[0].value: Invalid value: 0: must be greater than zero`,
    `${field}.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800`,
    `${field}.policies[1].periodSeconds: Invalid value: 0: must be greater than zero`,
  )
})

test('replica counts in the HPA status must not be negative', () => {
  checkStatus(
    { status: { currentReplicas: -1, desiredReplicas: -1 } },
    {},
    'status.currentReplicas: Invalid value: -1: must be greater than or equal to 0',
    'status.desiredReplicas: Invalid value: -1',
  )
  underTest(autoscalingRules['Scale']).check({ spec: { replicas: -1 } }, 'spec.replicas: Invalid value: -1')
})
