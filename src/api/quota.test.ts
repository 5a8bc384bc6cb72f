import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectOf } from './metadata.ts'
import type { JsonObject } from './text/json-object.ts'
import type { ScopedResourceSelectorRequirement } from './generated/core/v1.ts'
import { evaluatorFor, formatAmounts, type QuotaEvaluator } from './quota.ts'

const nowMs = Date.UTC(2026, 0, 1)

/** A pod with one container. */
const pod = (spec: object = {}) => ({ spec: { containers: [container()], ...spec } })
const container = (fields: object = {}) => ({ name: 'a', image: 'nginx', ...fields })
const podWith = (fields: object, spec: object = {}) => pod({ containers: [container(fields)], ...spec })

function evaluator(name: string): QuotaEvaluator {
  const [plural = '', ...group] = name.split('.')
  return evaluatorFor({ plural, group: group.join('.') })!
}

/** Checks the usage of an object of the kind, formatted as in messages. */
function check(kind: string, object: object, usage: string): void {
  const evaluated = evaluator(kind).usage(objectOf(object as JsonObject), nowMs)
  assert.equal(formatAmounts(evaluated), usage)
  for (const name of evaluated.keys()) assert(evaluator(kind).matchesResource(name), name)
}

const asks = (requests: object, limits: object = {}) => ({ resources: { requests, limits } })

test('pod quota usage is the aggregate of its containers', () => {
  check('pods', pod(), 'count/pods=1,pods=1')
  check(
    'pods',
    podWith(asks({ cpu: '100m', memory: '1Gi' }, { cpu: '1' })),
    'count/pods=1,cpu=100m,limits.cpu=1,memory=1Gi,pods=1,requests.cpu=100m,requests.memory=1Gi',
  )
  check(
    'pods',
    pod({
      containers: [container(asks({ cpu: '1' })), container(asks({ cpu: '2' }))],
      initContainers: [container(asks({ cpu: '5' }))],
    }),
    'count/pods=1,cpu=5,pods=1,requests.cpu=5',
  )
  check(
    'pods',
    podWith(asks({ cpu: '1' }, { cpu: '2' }), { overhead: { cpu: '500m', memory: '1Mi' } }),
    'count/pods=1,cpu=1500m,limits.cpu=2500m,memory=1Mi,pods=1,requests.cpu=1500m,requests.memory=1Mi',
  )
  check(
    'pods',
    podWith(asks({ cpu: '1' }), { resources: { requests: { cpu: '3' } } }),
    'count/pods=1,cpu=3,pods=1,requests.cpu=3',
  )
})

test('pod quota usage of ephemeral storage, huge pages and extended resources', () => {
  check(
    'pods',
    podWith(asks({ 'ephemeral-storage': '1Gi' }, { 'ephemeral-storage': '2Gi' })),
    'count/pods=1,ephemeral-storage=1Gi,limits.ephemeral-storage=2Gi,pods=1,requests.ephemeral-storage=1Gi',
  )
  check(
    'pods',
    podWith(asks({ 'hugepages-2Mi': '4Mi' })),
    'count/pods=1,hugepages-2Mi=4Mi,pods=1,requests.hugepages-2Mi=4Mi',
  )
  check(
    'pods',
    podWith(asks({ 'example.com/gpu': '2' }, { 'example.com/gpu': '2' })),
    'count/pods=1,pods=1,requests.example.com/gpu=2',
  )
})

test('a terminal pod counts only as an object', () => {
  const ended = 'count/pods=1'
  const asking = podWith(asks({ cpu: '1' }))
  const running = 'count/pods=1,cpu=1,pods=1,requests.cpu=1'
  check('pods', { ...asking, status: { phase: 'Failed' } }, ended)
  check('pods', { ...asking, status: { phase: 'Succeeded' } }, ended)
  check('pods', { ...asking, status: { phase: 'Running' } }, running)
  const leaving = (deletionTimestamp: string) => {
    return { ...asking, metadata: { deletionTimestamp, deletionGracePeriodSeconds: 30 } }
  }
  check('pods', leaving('2025-12-31T23:59:29Z'), ended)
  check('pods', leaving('2025-12-31T23:59:31Z'), running)
})

test('a pod being resized uses the maximum of current and desired resources', () => {
  const status = (resources: object, allocatedResources: object, reason?: string) => ({
    containerStatuses: [{ name: 'a', resources, allocatedResources }],
    ...(reason && { conditions: [{ type: 'PodResizePending', reason }] }),
  })
  const wants2 = podWith(asks({ cpu: '2' }, { cpu: '2' }))
  const has = (request: string, limit: string) => ({ requests: { cpu: request }, limits: { cpu: limit } })
  const uses = (cpu: string, limit: string) => {
    return `count/pods=1,cpu=${cpu},limits.cpu=${limit},pods=1,requests.cpu=${cpu}`
  }
  check('pods', { ...wants2, status: status(has('3', '4'), { cpu: '1' }) }, uses('3', '4'))
  check('pods', { ...wants2, status: status(has('1', '1'), { cpu: '1' }) }, uses('2', '2'))
  check('pods', { ...wants2, status: status(has('1', '1'), { cpu: '1' }, 'Infeasible') }, uses('1', '1'))
})

test('quota usage of services', () => {
  const service = (spec: object) => ({
    spec: { ports: [{ port: 80 }, { port: 81, nodePort: 30_000 }], ...spec },
  })
  const uses = (nodePorts: number, balancers: number) =>
    `count/services=1,services=1,services.loadbalancers=${balancers},services.nodeports=${nodePorts}`
  check('services', service({}), uses(0, 0))
  check('services', service({ type: 'NodePort' }), uses(2, 0))
  check('services', service({ type: 'LoadBalancer' }), uses(2, 1))
  check('services', service({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }), uses(1, 1))
})

test('quota usage of PersistentVolumeClaims', () => {
  const claim = (spec: object, status: object = {}, metadata: object = {}) => ({ metadata, spec, status })
  const asking = { resources: { requests: { storage: '1Gi' } } }
  check('persistentvolumeclaims', claim({}), 'count/persistentvolumeclaims=1,persistentvolumeclaims=1')
  check(
    'persistentvolumeclaims',
    claim({ ...asking, storageClassName: 'gold' }),
    'count/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,' +
      'gold.storageclass.storage.k8s.io/requests.storage=1Gi,persistentvolumeclaims=1,requests.storage=1Gi',
  )
  check(
    'persistentvolumeclaims',
    claim(asking, { allocatedResources: { storage: '2Gi' } }),
    'count/persistentvolumeclaims=1,persistentvolumeclaims=1,requests.storage=2Gi',
  )
  check(
    'persistentvolumeclaims',
    claim({ resources: { requests: { storage: '1500m' } } }),
    'count/persistentvolumeclaims=1,persistentvolumeclaims=1,requests.storage=2',
  )
})

test('quota usage of ResourceClaims is the maximum of the alternatives', () => {
  const claim = (...requests: object[]) => ({ spec: { devices: { requests } } })
  const some = (deviceClassName: string, count: number) => ({
    deviceClassName,
    allocationMode: 'ExactCount',
    count,
  })
  const all = (deviceClassName: string) => ({ deviceClassName, allocationMode: 'All' })
  const kind = 'resourceclaims.resource.k8s.io'
  const uses = (gpu: number, nic: number) =>
    `count/${kind}=1,gpu.deviceclass.resource.k8s.io/devices=${gpu},nic.deviceclass.resource.k8s.io/devices=${nic}`
  check(kind, claim({ exactly: some('gpu', 2) }, { exactly: all('nic') }), uses(2, 32))
  check(kind, claim({ firstAvailable: [some('gpu', 2), some('gpu', 3), some('nic', 1)] }), uses(3, 1))
})

test('other kinds are counted, some also under their legacy name', () => {
  check('deployments.apps', {}, 'count/deployments.apps=1')
  check('widgets.example.com', {}, 'count/widgets.example.com=1')
  check('secrets', {}, 'count/secrets=1,secrets=1')
  check('configmaps', {}, 'configmaps=1,count/configmaps=1')
  assert.equal(evaluatorFor({ group: '', plural: 'events' }), undefined)
  assert.equal(evaluator('pods').matchesResource('secrets'), false)
  assert.equal(evaluator('pods').matchesResource('requests.example.com/gpu'), true)
  assert.equal(evaluator('pods').matchesResource('__proto__'), false)
})

test('quota scopes match objects', () => {
  const inScope = (kind: string, object: object, scopes: Readonly<Record<string, boolean>>): void => {
    for (const [text, expected] of Object.entries(scopes)) {
      const [scopeName = '', operator = 'Exists', ...values] = text.split(' ')
      const scope: ScopedResourceSelectorRequirement = { scopeName, operator, values }
      assert.equal(evaluator(kind).matchesScope(objectOf(object as JsonObject), scope), expected, text)
    }
  }
  inScope('pods', pod(), { Terminating: false, NotTerminating: true, BestEffort: true, NotBestEffort: false })
  inScope('pods', podWith(asks({ cpu: '1' }), { activeDeadlineSeconds: 0 }), {
    Terminating: true,
    NotTerminating: false,
    BestEffort: false,
    NotBestEffort: true,
  })
  inScope('pods', pod({ priorityClassName: 'high' }), {
    'PriorityClass': true,
    'PriorityClass DoesNotExist': false,
    'PriorityClass In low high': true,
    'PriorityClass In low': false,
    'PriorityClass NotIn high': false,
    'PriorityClass NotIn low': true,
  })
  inScope('pods', pod(), {
    'PriorityClass': false,
    'PriorityClass DoesNotExist': true,
    'PriorityClass In low': false,
    'PriorityClass NotIn low': true,
    'CrossNamespacePodAffinity': false,
    'VolumeAttributesClass': false,
    'other': false,
  })
  const affine = (podAffinityTerm: object) => {
    const podAntiAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm }] }
    return pod({ affinity: { podAntiAffinity } })
  }
  inScope('pods', affine({ namespaces: ['other'] }), { CrossNamespacePodAffinity: true })
  inScope('pods', affine({ namespaceSelector: {} }), { CrossNamespacePodAffinity: true })
  inScope('pods', affine({ namespaces: [] }), { CrossNamespacePodAffinity: false })
  const claim = {
    spec: { volumeAttributesClassName: 'a' },
    status: { currentVolumeAttributesClassName: 'b' },
  }
  inScope('persistentvolumeclaims', claim, {
    'VolumeAttributesClass': true,
    'VolumeAttributesClass In b': true,
    'VolumeAttributesClass In c': false,
    'VolumeAttributesClass DoesNotExist': false,
    'BestEffort': false,
  })
  inScope('secrets', {}, { BestEffort: false })
})

test('pods must set resources that have a compute quota', () => {
  const missing = (object: object, ...resources: string[]) => {
    return evaluator('pods').constraints?.(objectOf(object as JsonObject), resources)
  }
  const two = pod({
    containers: [container(), container({ name: 'b', ...asks({ cpu: '1' }) })],
    initContainers: [container({ name: 'i' })],
  })
  assert.equal(
    missing(two, 'requests.cpu', 'limits.cpu', 'pods'),
    'must specify limits.cpu for: a,b,i; requests.cpu for: a,i',
  )
  assert.equal(missing(podWith(asks({ cpu: '1' })), 'requests.cpu', 'cpu'), undefined)
  assert.equal(missing(pod(), 'requests.ephemeral-storage', 'pods'), undefined)
  assert.equal(missing(pod({ resources: { requests: { cpu: '1' } } }), 'limits.cpu'), undefined)
})
