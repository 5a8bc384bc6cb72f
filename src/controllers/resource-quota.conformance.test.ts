/** The conformance tests of resource quotas, written from their descriptions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import type { Pod, ResourceQuota } from '#/api/generated/core/v1.ts'
import {
  configMaps,
  pods,
  replicationControllers,
  resourceQuotas,
  secrets,
  services,
} from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { resourceQuotaController } from './resource-quota.ts'
import { usualAdmission } from './test-admission.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

type List = Readonly<Record<string, string>>

async function start(t: Parameters<typeof startTestControlPlane>[0]): Promise<TestControlPlane> {
  return startTestControlPlane(t, [resourceQuotaController], { admission: await usualAdmission() })
}

function quotaOf(hard: List, name = 'quota', scopes?: readonly string[]): ResourceQuota {
  const metadata = { namespace: 'default', name, labels: { test: 'quota' } }
  return { metadata, spec: { hard, ...(scopes && { scopes }) } }
}

function at(name: string): { readonly namespace: string; readonly name: string } {
  return { namespace: 'default', name }
}

async function quotaNow(plane: TestControlPlane, name = 'quota'): Promise<ResourceQuota> {
  return plane.run(plane.client.get(resourceQuotas, at(name)))
}

/** Usage of the given resources. */
async function used(plane: TestControlPlane, names: readonly string[], name = 'quota'): Promise<List> {
  const { status } = await quotaNow(plane, name)
  return Object.fromEntries(names.map(each => [each, status?.used?.[each] ?? 'unknown']))
}

async function remove(plane: TestControlPlane, resource: Resource, name: string): Promise<void> {
  // With the default policy the ReplicationController would remain until the garbage collector has orphaned
  // its pods.
  const options = { gracePeriodSeconds: 0, propagationPolicy: 'Background' } as const
  await plane.run(plane.client.delete(resource, at(name), options))
  await plane.settle()
}

test('ResourceQuota status is calculated promptly', async t => {
  const plane = await start(t)
  const hard = { 'resourcequotas': '1', 'pods': '5', 'secrets': '10', 'count/replicasets.apps': '5' }
  await plane.create(resourceQuotas, quotaOf(hard))
  const { status } = await quotaNow(plane)
  assert.deepEqual(status?.hard, hard)
  const nothing = { 'pods': '0', 'secrets': '0', 'count/replicasets.apps': '0' }
  assert.deepEqual(status.used, { ...nothing, resourcequotas: '1' })
})

test('ResourceQuota captures the life of objects of every kind', async t => {
  const plane = await start(t)
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } }
  const lives: readonly (readonly [Resource, object, List])[] = [
    [configMaps, { data: { a: 'b' } }, { configmaps: '1' }],
    [secrets, { data: { a: 'Yg==' } }, { secrets: '1' }],
    [services, { spec: { type: 'ClusterIP', ports: [{ port: 80 }] } }, { services: '1' }],
    [
      services,
      { spec: { type: 'NodePort', ports: [{ port: 80 }] } },
      { 'services': '1', 'services.nodeports': '1' },
    ],
    [
      services,
      { spec: { type: 'LoadBalancer', ports: [{ port: 80 }], allocateLoadBalancerNodePorts: false } },
      { 'services': '1', 'services.loadbalancers': '1', 'services.nodeports': '0' },
    ],
    [
      replicationControllers,
      { spec: { replicas: 0, selector: labels, template } },
      { replicationcontrollers: '1' },
    ],
    [
      replicaSets,
      { spec: { replicas: 0, selector: { matchLabels: labels }, template } },
      { 'count/replicasets.apps': '1' },
    ],
  ]
  const names = [...new Set(lives.flatMap(([, , usage]) => Object.keys(usage)))]
  await plane.create(resourceQuotas, quotaOf(Object.fromEntries(names.map(name => [name, '10']))))
  const before = await used(plane, names)
  for (const [resource, object, usage] of lives) {
    const made: KubernetesObject = { ...object, metadata: at('mine') }
    await plane.create(resource, made)
    const more = Object.entries(usage).map(([name, text]) => [
      name,
      String(Number(before[name]) + Number(text)),
    ])
    assert.deepEqual(await used(plane, names), { ...before, ...Object.fromEntries(more) })
    await remove(plane, resource, 'mine')
    assert.deepEqual(await used(plane, names), before)
  }
})

function podOf(name: string, requests: List, spec: Partial<Pod['spec']> = {}): Pod {
  const resources = Object.keys(requests).length === 0 ? {} : { requests, limits: requests }
  return { metadata: at(name), spec: { containers: [{ name: 'a', image: 'a', resources }], ...spec } }
}

test('ResourceQuota captures the life of a pod and rejects pods beyond the limit', async t => {
  const plane = await start(t)
  const hard = {
    'cpu': '1',
    'memory': '500Mi',
    'pods': '5',
    'requests.ephemeral-storage': '50Gi',
    'requests.example.com/dongle': '3',
  }
  await plane.create(resourceQuotas, quotaOf(hard))
  const requests = {
    'cpu': '500m',
    'memory': '252Mi',
    'ephemeral-storage': '30Gi',
    'example.com/dongle': '2',
  }
  await plane.create(pods, podOf('first', requests))
  const usage = {
    'cpu': '500m',
    'memory': '252Mi',
    'pods': '1',
    'requests.ephemeral-storage': '30Gi',
    'requests.example.com/dongle': '2',
  }
  assert.deepEqual(await used(plane, Object.keys(hard)), usage)
  for (const more of [
    { cpu: '600m', memory: '100Mi' },
    { ...requests, cpu: '100m', memory: '100Mi' },
  ]) {
    const refused = plane.run(plane.client.create(pods, podOf('second', more)))
    await assert.rejects(refused, /exceeded quota: quota/)
  }
  const changed = plane.change(pods, 'default/first', pod => ({ ...pod, ...podOf('first', { cpu: '100m' }) }))
  await assert.rejects(changed)
  assert.deepEqual(await used(plane, Object.keys(hard)), usage)
  await remove(plane, pods, 'first')
  const nothing = Object.fromEntries(Object.keys(hard).map(name => [name, '0']))
  assert.deepEqual(await used(plane, Object.keys(hard)), nothing)
})

/** A pod counts against one quota and not against the other. */
async function checkScope(
  plane: TestControlPlane,
  pod: Pod,
  [its, other]: readonly [string, string],
  usage: List,
): Promise<void> {
  const nothing = Object.fromEntries(Object.keys(usage).map(name => [name, '0']))
  await plane.create(pods, pod)
  assert.deepEqual(await used(plane, Object.keys(usage), its), usage)
  assert.deepEqual(await used(plane, Object.keys(usage), other), nothing)
  await remove(plane, pods, pod.metadata.name ?? '')
  assert.deepEqual(await used(plane, Object.keys(usage), its), nothing)
}

test('BestEffort and NotBestEffort scopes count separate pods', async t => {
  const plane = await start(t)
  await plane.create(resourceQuotas, quotaOf({ pods: '5' }, 'best', ['BestEffort']))
  await plane.create(resourceQuotas, quotaOf({ pods: '5' }, 'not-best', ['NotBestEffort']))
  await checkScope(plane, podOf('poor', {}), ['best', 'not-best'], { pods: '1' })
  await checkScope(plane, podOf('rich', { cpu: '1' }), ['not-best', 'best'], { pods: '1' })
})

test('Terminating and NotTerminating scopes count separate pods', async t => {
  const plane = await start(t)
  const hard = {
    'pods': '5',
    'requests.cpu': '1',
    'limits.cpu': '2',
    'requests.memory': '500Mi',
    'limits.memory': '1Gi',
  }
  await plane.create(resourceQuotas, quotaOf(hard, 'ending', ['Terminating']))
  await plane.create(resourceQuotas, quotaOf(hard, 'lasting', ['NotTerminating']))
  const usage = {
    'pods': '1',
    'requests.cpu': '500m',
    'limits.cpu': '500m',
    'requests.memory': '200Mi',
    'limits.memory': '200Mi',
  }
  const requests = { cpu: '500m', memory: '200Mi' }
  await checkScope(plane, podOf('lasting', requests), ['lasting', 'ending'], usage)
  const ending = podOf('ending', requests, { activeDeadlineSeconds: 3_600 })
  await checkScope(plane, ending, ['ending', 'lasting'], usage)
})

test('ResourceQuota can be updated and deleted', async t => {
  const plane = await start(t)
  await plane.create(resourceQuotas, quotaOf({ cpu: '1', memory: '500Mi' }))
  await plane.change(resourceQuotas, 'default/quota', quota => ({
    ...quota,
    spec: { hard: { cpu: '2', memory: '1Gi' } },
  }))
  const { spec, status } = await quotaNow(plane)
  assert.deepEqual(spec?.hard, { cpu: '2', memory: '1Gi' })
  assert.deepEqual(status?.hard, spec?.hard)
  await remove(plane, resourceQuotas, 'quota')
  assert.deepEqual(await plane.list(resourceQuotas, 'default'), [])
})

test('ResourceQuota lifecycle: labels, list, patch and delete collection', async t => {
  const plane = await start(t)
  await plane.create(resourceQuotas, quotaOf({ cpu: '1', memory: '500Mi' }))
  const labelled = async (labelSelector: string): Promise<readonly ResourceQuota[]> => {
    return (await plane.run(plane.client.list(resourceQuotas, { labelSelector }))).items
  }
  assert.equal((await labelled('test=quota')).length, 1)
  const patch = { metadata: { labels: { test: 'patched' } }, spec: { hard: { memory: '750Mi' } } }
  const patched = await plane.run(
    plane.client.patch(resourceQuotas, at('quota'), { type: 'strategic', patch }),
  )
  assert.deepEqual(patched.spec?.hard, { cpu: '1', memory: '750Mi' })
  assert.equal(patched.metadata.labels?.['test'], 'patched')
  const selected = { namespace: 'default', labelSelector: 'test=patched' }
  await plane.run(plane.client.deleteCollection(resourceQuotas, selected))
  assert.deepEqual(await labelled('test=patched'), [])
})

test('status.hard of a ResourceQuota follows spec.hard after status updates', async t => {
  const plane = await start(t)
  await plane.create(resourceQuotas, quotaOf({ cpu: '500m', memory: '500Mi' }))
  const hard = { cpu: '1', memory: '1Gi' }
  const written = await plane.run(
    plane.client.updateStatus(resourceQuotas, { ...(await quotaNow(plane)), status: { hard } }),
  )
  assert.deepEqual(written.status?.hard, hard)
  await plane.settle()
  assert.deepEqual((await quotaNow(plane)).status?.hard, { cpu: '500m', memory: '500Mi' })
  const patchHard = (values: List, subresource?: string): Promise<ResourceQuota> => {
    const part = subresource === undefined ? { spec: { hard: values } } : { status: { hard: values } }
    const address = { ...at('quota'), ...(subresource !== undefined && { subresource }) }
    return plane.run(plane.client.patch(resourceQuotas, address, { type: 'merge', patch: part }))
  }
  const wanted = await patchHard(hard)
  assert.deepEqual(wanted.spec?.hard, hard)
  await plane.settle()
  const stated = await patchHard({ cpu: '2', memory: '2Gi' }, 'status')
  assert.deepEqual(stated.status?.hard, { cpu: '2', memory: '2Gi' })
  assert.deepEqual(stated.spec?.hard, hard)
  await plane.settle()
  const address = { ...at('quota'), subresource: 'status' }
  const { status, spec } = await plane.run(
    plane.client.getSubresource<ResourceQuota>(resourceQuotas, address),
  )
  assert.deepEqual([status?.hard, spec?.hard], [hard, hard])
})
