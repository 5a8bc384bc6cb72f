import assert from 'node:assert/strict'
import { test } from 'node:test'
import { apiError } from '#/api/errors.ts'
import type { Device, DeviceRequest, ResourceClaim, ResourceSlice } from '#/api/generated/resource/v1.ts'
import {
  deviceClasses,
  resourceClaims,
  resourceClaimTemplates,
  resourceSlices,
} from '#/api/generated/resource/v1-resources.ts'
import type { AdmissionPluginFactory } from '#/apiserver/admission.ts'
import { resourceClaimController } from '#/controllers/resource-claim.ts'
import { driver, podWithClaims, templateOf } from '#/controllers/test-devices.ts'
import { eventsAbout } from '#/controllers/test-storage.ts'
import { nodeOf, podOf, startTestCluster, type TestCluster } from '../test-cluster.ts'
import { testProfiles } from './test-profile.ts'

const selectors = [{ cel: { expression: `device.driver == "${driver}"` } }]

/** Nodes with these devices, and a controller that creates claims from templates. */
async function start(
  t: Parameters<typeof startTestCluster>[0],
  nodes: Readonly<Record<string, readonly (string | Device)[]>>,
  admission?: AdmissionPluginFactory,
): Promise<TestCluster> {
  const cluster = await startTestCluster(t, {
    profiles: testProfiles,
    controllers: [resourceClaimController],
    ...(admission && { admission }),
  })
  await cluster.create(deviceClasses, { metadata: { name: driver }, spec: { selectors } })
  for (const [name, devices] of Object.entries(nodes)) {
    await cluster.addNodes(nodeOf(name))
    if (devices.length > 0) await cluster.create(resourceSlices, sliceOf(name, devices))
  }
  return cluster
}

function sliceOf(node: string, devices: readonly (string | Device)[]): ResourceSlice {
  const pool = { name: node, generation: 1, resourceSliceCount: 1 }
  const all = devices.map(device => (typeof device === 'string' ? { name: device } : device))
  return { metadata: { name: `slice-${node}` }, spec: { driver, pool, nodeName: node, devices: all } }
}

function claimFor(name: string, ...requests: readonly DeviceRequest[]): ResourceClaim {
  const usual: DeviceRequest = { name: 'gpu', exactly: { deviceClassName: driver } }
  const devices = { requests: requests.length > 0 ? requests : [usual] }
  return { metadata: { namespace: 'default', name }, spec: { devices } }
}

async function claimNamed(cluster: TestCluster, name: string): Promise<ResourceClaim> {
  return cluster.run(cluster.client.get(resourceClaims, { namespace: 'default', name }))
}

/** `device>pod` of every claim: the allocated device and the pod it is reserved for. */
async function showAllocations(cluster: TestCluster): Promise<readonly string[]> {
  const claims = await cluster.list(resourceClaims)
  return claims
    .map(({ status }) => {
      const devices = (status?.allocation?.devices?.results ?? []).map(
        ({ pool, device }) => `${pool}/${device}`,
      )
      return `${devices.join('+')}>${(status?.reservedFor ?? []).map(({ name }) => name).join('+')}`
    })
    .toSorted()
}

async function wordsAbout(cluster: TestCluster, pod: string): Promise<string> {
  return (await eventsAbout(cluster, pod)).join('\n')
}

test('pods with ResourceClaimTemplates get nodes with free devices, one claim each', async t => {
  const cluster = await start(t, { n1: [], n2: ['a', 'b'], n3: ['c'] })
  await cluster.create(resourceClaimTemplates, templateOf('gpu'))
  await cluster.addPods(...[1, 2, 3, 4].map(index => podWithClaims(`p${index}`, ['gpu<gpu'])))
  await cluster.advance(3_000)
  const places = Object.values(await cluster.places()).toSorted()
  assert.deepEqual(places, ['', 'n2', 'n2', 'n3'])
  const shown = await showAllocations(cluster)
  assert.deepEqual(
    shown.map(each => each.split('>')[0]),
    ['', 'n2/a', 'n2/b', 'n3/c'],
  )
  const [waiting = ''] = Object.entries(await cluster.places()).find(([, node]) => node === '') ?? []
  assert.match(await wordsAbout(cluster, waiting), /0\/3 nodes are available: 3 cannot allocate all claims\./)
  // A terminated pod frees its device for the pending one.
  const [done = ''] = Object.entries(await cluster.places()).find(([, node]) => node === 'n3') ?? []
  await cluster.deletePod(done)
  await cluster.advance(20_000)
  assert.equal((await cluster.places())[waiting], 'n3')
})

test('the allocation and reservation written to a claim', async t => {
  const cluster = await start(t, { n1: ['a'] })
  await cluster.create(resourceClaims, claimFor('one'))
  await cluster.addPods(podWithClaims('web', ['gpu=one']))
  const { metadata, status } = await claimNamed(cluster, 'one')
  const pod = await cluster.getPod('web')
  assert.deepEqual(metadata.finalizers, ['resource.kubernetes.io/delete-protection'])
  assert.deepEqual(status?.reservedFor, [{ resource: 'pods', name: 'web', uid: pod.metadata.uid }])
  const { allocationTimestamp, ...allocation } = status?.allocation ?? {}
  assert.ok(allocationTimestamp)
  assert.deepEqual(allocation, {
    devices: { results: [{ request: 'gpu', driver, pool: 'n1', device: 'a' }] },
    nodeSelector: {
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
    },
  })
  assert.equal(pod.spec?.nodeName, 'n1')
})

test('pods that share a claim are scheduled to the same node', async t => {
  const cluster = await start(t, { n1: ['a'], n2: ['b'] })
  await cluster.create(resourceClaims, claimFor('one'))
  await cluster.addPods(podWithClaims('p1', ['gpu=one']), podWithClaims('p2', ['gpu=one']))
  await cluster.advance(3_000)
  const { p1, p2 } = await cluster.places()
  assert.ok(p1)
  assert.equal(p1, p2)
  assert.equal((await claimNamed(cluster, 'one')).status?.reservedFor?.length, 2)
})

test('a pod is gated until its ResourceClaims exist', async t => {
  const cluster = await start(t, { n1: ['a'] })
  await cluster.addPods(podWithClaims('web', ['gpu=late']))
  await cluster.advance(5_000)
  assert.equal(await wordsAbout(cluster, 'web'), '')
  await cluster.create(resourceClaims, claimFor('late'))
  assert.deepEqual(await cluster.places(), { web: 'n1' })
})

test('a pod is unschedulable until the device class exists', async t => {
  const cluster = await start(t, { n1: ['a'] })
  await cluster.create(
    resourceClaims,
    claimFor('one', { name: 'gpu', exactly: { deviceClassName: 'other' } }),
  )
  await cluster.addPods(podWithClaims('web', ['gpu=one']))
  assert.match(await wordsAbout(cluster, 'web'), /request gpu: device class other does not exist/)
  await cluster.create(deviceClasses, { metadata: { name: 'other' }, spec: { selectors } })
  await cluster.advance(2_000)
  assert.deepEqual(await cluster.places(), { web: 'n1' })
})

test('nodes with an earlier firstAvailable alternative score higher', async t => {
  const large = { name: 'large', attributes: { size: { string: 'large' } } }
  const small = { name: 'small', attributes: { size: { string: 'small' } } }
  const cluster = await start(t, { n1: [small], n2: [large], n3: [small] })
  const way = (size: string): object => ({
    name: size,
    deviceClassName: driver,
    selectors: [{ cel: { expression: `device.attributes["${driver}"].size == "${size}"` } }],
  })
  const request = { name: 'gpu', firstAvailable: [way('large'), way('small')] } as unknown as DeviceRequest
  for (const name of ['one', 'two', 'three']) await cluster.create(resourceClaims, claimFor(name, request))
  await cluster.addPods(podWithClaims('p1', ['gpu=one']))
  assert.deepEqual(await cluster.places(), { p1: 'n2' })
  assert.equal(
    (await claimNamed(cluster, 'one')).status?.allocation?.devices?.results?.[0]?.request,
    'gpu/large',
  )
  await cluster.addPods(podWithClaims('p2', ['gpu=two']), podWithClaims('p3', ['gpu=three']))
  const { p2, p3 } = await cluster.places()
  assert.deepEqual(new Set([p2, p3]), new Set(['n1', 'n3']))
})

test('an unused claim allocated on an infeasible node is deallocated', async t => {
  const cluster = await start(t, { n1: ['a'], n2: ['b'] })
  await cluster.create(resourceClaims, claimFor('one'))
  await cluster.addPods(
    podWithClaims('first', ['gpu=one'], { nodeSelector: { 'kubernetes.io/hostname': 'n1' } }),
  )
  assert.deepEqual(await cluster.places(), { first: 'n1' })
  await cluster.addPods(
    podWithClaims('second', ['gpu=one'], { nodeSelector: { 'kubernetes.io/hostname': 'n2' } }),
  )
  assert.match(await wordsAbout(cluster, 'second'), /resourceclaim not available on the node/)
  await cluster.deletePod('first')
  await cluster.advance(20_000)
  assert.deepEqual(await cluster.places(), { second: 'n2' })
  assert.deepEqual(await showAllocations(cluster), ['n2/b>second'])
})

test('binding waits for device binding conditions and fails if they fail', async t => {
  const slow = { name: 'slow', bindingConditions: ['attached'], bindingFailureConditions: ['broken'] }
  const cluster = await start(t, { n1: [slow] })
  await cluster.create(resourceClaims, claimFor('one'))
  await cluster.addPods(podWithClaims('web', ['gpu=one']))
  assert.deepEqual(await cluster.places(), { web: '' })
  assert.equal((await claimNamed(cluster, 'one')).status?.reservedFor?.length, 1)
  const say = (type: string): Promise<ResourceClaim> => {
    const condition = {
      type,
      status: 'True',
      reason: 'Said',
      message: 'm',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    return cluster.changeStatus(resourceClaims, 'default/one', claim => ({
      ...claim,
      status: { ...claim.status, devices: [{ driver, pool: 'n1', device: 'slow', conditions: [condition] }] },
    }))
  }
  await say('broken')
  assert.match(await wordsAbout(cluster, 'web'), /device binding failed: claim=one, reason=Said, message="m"/)
  // The claim is deallocated and the pod retried.
  await cluster.advance(10_000)
  assert.equal((await claimNamed(cluster, 'one')).status?.devices, undefined)
  await say('attached')
  assert.deepEqual(await cluster.places(), { web: 'n1' })
})

test('extended resources are provided by devices where nodes do not have them', async t => {
  const cluster = await start(t, { n1: [], n2: ['a', 'b'] })
  await cluster.change(deviceClasses, driver, each => ({
    ...each,
    spec: { ...each.spec, extendedResourceName: 'example.com/gpu' },
  }))
  await cluster.addPods(podOf('web', { others: { 'example.com/gpu': '2' } }))
  await cluster.advance(2_000)
  assert.deepEqual(await cluster.places(), { web: 'n2' })
  const [claim] = await cluster.list(resourceClaims)
  assert.match(claim?.metadata.name ?? '', /^web-extended-resources-/)
  assert.equal(claim?.metadata.annotations?.['resource.kubernetes.io/extended-resource-claim'], 'true')
  assert.deepEqual(await showAllocations(cluster), ['n2/a+n2/b>web'])
  const { status } = await cluster.getPod('web')
  assert.deepEqual(status?.extendedResourceClaimStatus, {
    resourceClaimName: claim?.metadata.name,
    requestMappings: [
      { containerName: 'web', resourceName: 'example.com/gpu', requestName: 'container-0-request-0' },
    ],
  })
  await cluster.addPods(
    podOf('more', { others: { 'deviceclass.resource.kubernetes.io/gpu.example.com': '1' } }),
  )
  assert.deepEqual((await cluster.places())['more'], '')
})

test('the devices of a pod that cannot be bound are released', async t => {
  const reject: AdmissionPluginFactory = () => [
    {
      name: 'RejectAllocation',
      handles: ({ operation }) => operation === 'UPDATE',
      validate: ({ resource, subresource, name }) => {
        if (resource.plural === 'resourceclaims' && subresource === 'status' && name === 'one')
          throw apiError('Forbidden', 'not this one')
      },
    },
  ]
  const cluster = await start(t, { n1: ['a'] }, reject)
  await cluster.create(resourceClaims, claimFor('one'))
  await cluster.create(resourceClaims, claimFor('two'))
  await cluster.addPods(podWithClaims('rejected', ['gpu=one']))
  assert.match(await wordsAbout(cluster, 'rejected'), /not this one/)
  await cluster.addPods(podWithClaims('web', ['gpu=two']))
  await cluster.advance(5_000)
  assert.deepEqual(await cluster.places(), { rejected: '', web: 'n1' })
})
