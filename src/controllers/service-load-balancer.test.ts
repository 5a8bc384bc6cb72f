import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Service } from '#/api/generated/core/v1.ts'
import { configMaps, events, nodes, services } from '#/api/generated/core/v1-resources.ts'
import { parseIp, formatIp } from '#/api/net/ip.ts'
import { addressPools } from './address-pools.ts'
import { addressesIn, isInRanges, parseRange } from './address-pools/ranges.ts'
import type { LoadBalancerFactory } from './shared/load-balancer.ts'
import { serviceLoadBalancerController } from './service-load-balancer.ts'
import { planLoadBalancer, type LoadBalancerWorld } from './service-load-balancer/plan.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

const namespace = 'default'
const finalizer = 'service.kubernetes.io/load-balancer-cleanup'

function serviceOf(name: string, spec: Service['spec'] = {}): Service {
  return { metadata: { namespace, name }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec } }
}

function start(t: Pick<TestContext, 'after'>, ranges: readonly string[]): Promise<TestControlPlane> {
  return startTestControlPlane(t, [
    serviceLoadBalancerController({ createLoadBalancer: addressPools(ranges) }),
  ])
}

async function find(plane: TestControlPlane, name: string): Promise<Service | undefined> {
  return (await plane.list(services, namespace)).find(({ metadata }) => metadata.name === name)
}

async function addressesOf(plane: TestControlPlane, name: string): Promise<readonly (string | undefined)[]> {
  return ((await find(plane, name))?.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip)
}

async function reasonsOf(plane: TestControlPlane, name: string): Promise<ReadonlySet<string | undefined>> {
  const all = await plane.list(events)
  return new Set(all.filter(({ involvedObject }) => involvedObject.name === name).map(({ reason }) => reason))
}

test('services get and keep pool addresses, or the requested loadBalancerIP', async t => {
  const plane = await start(t, ['192.0.2.10-192.0.2.12'])
  await plane.create(services, serviceOf('a'))
  await plane.create(services, serviceOf('b', { loadBalancerIP: '192.0.2.11' }))
  await plane.create(services, serviceOf('c'))
  assert.deepEqual(await addressesOf(plane, 'a'), ['192.0.2.10'])
  assert.deepEqual(await addressesOf(plane, 'b'), ['192.0.2.11'])
  assert.deepEqual(await addressesOf(plane, 'c'), ['192.0.2.12'])
  const made = await find(plane, 'a')
  assert.deepEqual(made?.metadata.finalizers, [finalizer])
  assert.equal(made?.status?.loadBalancer?.ingress?.[0]?.ipMode, 'VIP')
  assert.deepEqual(
    await reasonsOf(plane, 'a'),
    new Set(['EnsuringLoadBalancer', 'EnsuredLoadBalancer', 'IPAllocated', 'UnAvailableLoadBalancer']),
  )
  const version = made?.metadata.resourceVersion
  await plane.advance(600_000)
  assert.equal((await find(plane, 'a'))?.metadata.resourceVersion, version)
})

test('a service without a free address records an event and gets the next free one', async t => {
  const plane = await start(t, ['192.0.2.7'])
  await plane.create(services, serviceOf('a'))
  await plane.create(services, serviceOf('b'))
  await plane.create(services, serviceOf('c', { loadBalancerIP: '198.51.100.1' }))
  assert.deepEqual(await addressesOf(plane, 'b'), [])
  const failed =
    'Error syncing load balancer: failed to ensure load balancer: failed to allocate a load balancer IP for service'
  const told = (await plane.list(events)).filter(({ reason }) => reason === 'SyncLoadBalancerFailed')
  assert.deepEqual(
    new Set(told.map(({ message }) => message)),
    new Set([
      `${failed} default/b: no free IPv4 address in address pool default`,
      `${failed} default/c: 198.51.100.1 is not in an address pool for the service`,
    ]),
  )
  await plane.run(plane.client.delete(services, { namespace, name: 'a' }))
  await plane.settle()
  assert.equal(await find(plane, 'a'), undefined)
  assert.deepEqual(await addressesOf(plane, 'b'), ['192.0.2.7'])
})

test('a service that is no longer of type LoadBalancer releases its address', async t => {
  const plane = await start(t, ['192.0.2.7'])
  await plane.create(services, serviceOf('a'))
  await plane.change(services, 'default/a', each => ({ ...each, spec: { ...each.spec, type: 'ClusterIP' } }))
  const released = await find(plane, 'a')
  assert.deepEqual([released?.metadata.finalizers ?? [], released?.status?.loadBalancer], [[], {}])
  assert.ok((await reasonsOf(plane, 'a')).has('DeletedLoadBalancer'))
  await plane.create(services, serviceOf('b'))
  assert.deepEqual(await addressesOf(plane, 'b'), ['192.0.2.7'])
  await plane.change(services, 'default/b', each => ({
    ...each,
    spec: { ...each.spec, loadBalancerIP: '192.0.2.8' },
  }))
  assert.deepEqual(await addressesOf(plane, 'b'), ['192.0.2.7'])
})

test('services with another loadBalancerClass are ignored', async t => {
  const plane = await start(t, ['192.0.2.0/29'])
  await plane.create(services, serviceOf('a', { loadBalancerClass: 'example.com/internal' }))
  const left = await find(plane, 'a')
  assert.deepEqual([left?.metadata.finalizers ?? [], left?.status?.loadBalancer], [[], {}])
  const own = serviceLoadBalancerController({
    createLoadBalancer: addressPools(['192.0.2.0/29']),
    loadBalancerClass: 'example.com/internal',
  })
  const other = await startTestControlPlane(t, [own])
  await other.create(services, serviceOf('a', { loadBalancerClass: 'example.com/internal' }))
  await other.create(services, serviceOf('b'))
  assert.deepEqual(await addressesOf(other, 'a'), ['192.0.2.1'])
  assert.deepEqual(await addressesOf(other, 'b'), [])
})

test('no address is allocated twice, and the older service keeps a duplicate', async t => {
  const plane = await start(t, ['192.0.2.0/24'])
  const names = Array.from({ length: 50 }, (_, index) => `s${index}`)
  await plane.run(Promise.all(names.map(name => plane.client.create(services, serviceOf(name)))))
  await plane.settle()
  const all = await plane.list(services, namespace)
  const given = all.flatMap(({ status }) => (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip))
  assert.equal(given.length, 50)
  assert.equal(new Set(given).size, 50)
  await plane.advance(1_000)
  const young = await plane.create(services, serviceOf('young'))
  const [taken] = await addressesOf(plane, 's0')
  const loadBalancer = { ingress: [{ ip: taken!, ipMode: 'VIP' }] }
  await plane.changeStatus(services, `default/${young.metadata.name}`, each => ({
    ...each,
    status: { loadBalancer },
  }))
  const after = [...(await addressesOf(plane, 's0')), ...(await addressesOf(plane, 'young'))]
  assert.equal(after[0], taken)
  assert.equal(new Set([...after, ...given]).size, 51)
})

test('the status of a service with an external load balancer is left alone', async t => {
  const plane = await start(t, ['192.0.2.0/24'])
  await plane.create(services, serviceOf('a', { loadBalancerClass: 'example.com/internal-vip' }))
  const at = { namespace, name: 'a', subresource: 'status' }
  const patch = {
    metadata: { annotations: { patchedstatus: 'true' } },
    status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } },
  }
  await plane.run(plane.client.patch(services, at, { type: 'merge', patch }))
  await plane.settle()
  assert.deepEqual(await addressesOf(plane, 'a'), ['203.0.113.1'])
  const conditions = [
    {
      type: 'StatusUpdate',
      status: 'True',
      reason: 'E2E',
      message: 'Set from e2e test',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ]
  await plane.changeStatus(services, 'default/a', each => ({
    ...each,
    status: { ...each.status, conditions },
  }))
  const updated = await find(plane, 'a')
  assert.deepEqual(updated?.status?.conditions, conditions)
  assert.equal(updated?.metadata.annotations?.['patchedstatus'], 'true')
})

test('a load balancer is updated with eligible nodes, and retried after failures', async t => {
  const calls: string[] = []
  let isBroken = true
  const names = (list: readonly { metadata?: { name?: string } }[]): string =>
    list.map(each => each.metadata?.name).join()
  const cloud: LoadBalancerFactory = () => ({
    getLoadBalancer: async () => ({ status: { ingress: [{ hostname: 'a.example.com' }] } }),
    ensureLoadBalancer: async (_service, behind) => {
      calls.push(`ensure ${names(behind)}`)
      if (isBroken) throw new Error('quota')
      return { status: { ingress: [{ hostname: 'a.example.com' }] } }
    },
    updateLoadBalancer: async (_service, behind) => void calls.push(`nodes ${names(behind)}`),
    ensureLoadBalancerDeleted: async () => void calls.push('remove'),
  })
  const plane = await startTestControlPlane(t, [serviceLoadBalancerController({ createLoadBalancer: cloud })])
  const excluded = { 'node.kubernetes.io/exclude-from-external-load-balancers': 'true' }
  await plane.create(nodes, { metadata: { name: 'n1' } })
  await plane.create(nodes, { metadata: { name: 'n2', labels: excluded } })
  await plane.create(services, serviceOf('a'))
  assert.deepEqual(calls.splice(0), ['ensure n1'])
  isBroken = false
  await plane.advance(6_000)
  assert.deepEqual(calls.splice(0), ['ensure n1'])
  await plane.create(nodes, { metadata: { name: 'n3' } })
  assert.deepEqual(calls.splice(0), ['nodes n1,n3'])
  await plane.changeStatus(nodes, 'n3', node => ({
    ...node,
    status: { conditions: [{ type: 'Ready', status: 'False' }] },
  }))
  assert.deepEqual(calls, [])
  await plane.run(plane.client.delete(services, { namespace, name: 'a' }))
  await plane.settle()
  assert.deepEqual([calls, await find(plane, 'a')], [['remove'], undefined])
})

test('planLoadBalancer: ensure, update nodes, clean up or forget', () => {
  const wanted: Service = {
    metadata: { uid: '1', finalizers: [finalizer] },
    spec: { type: 'LoadBalancer' },
    status: { loadBalancer: {} },
  }
  const synced = { service: wanted, status: {}, nodeSet: 'n1', configuration: '' }
  const usual = { service: wanted, nodeSet: 'n1', configuration: '', loadBalancerClass: undefined }
  const check = (expected: string, world: Partial<LoadBalancerWorld>): void => {
    assert.equal(planLoadBalancer({ ...usual, synced, ...world }), expected)
  }
  check('nothing', {})
  check('ensure', { synced: undefined })
  check('update-nodes', { nodeSet: 'n1,n2' })
  check('ensure', { configuration: '2' })
  check('ensure', { service: { ...wanted, metadata: { uid: '1' } } })
  check('ensure', { service: { ...wanted, spec: { type: 'LoadBalancer', loadBalancerIP: '192.0.2.1' } } })
  check('ensure', { service: { ...wanted, metadata: { ...wanted.metadata, annotations: { cloud: 'x' } } } })
  check('forget', { service: undefined })
  check('forget', { service: { ...wanted, metadata: { uid: '2' } } })
  check('nothing', { service: undefined, synced: undefined })
  const going = { ...wanted, metadata: { ...wanted.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
  check('clean-up', { service: going, synced: undefined })
  check('clean-up', { service: { ...wanted, spec: { type: 'ClusterIP' } }, synced: undefined })
  check('nothing', { service: { metadata: { uid: '1' }, spec: { type: 'ClusterIP' } }, synced: undefined })
  const others = { ...going, spec: { type: 'LoadBalancer', loadBalancerClass: 'example.com/x' } }
  check('nothing', { service: others, synced: undefined })
})

test('an address range is a CIDR, a first-last pair or one address', () => {
  const check = (text: string, expected: string): void => {
    const all = [...addressesIn([parseRange(text)])].map(formatIp)
    assert.equal(`${all[0]} ${all.at(-1)} ${all.length}`, expected, text)
  }
  check('192.0.2.0/29', '192.0.2.1 192.0.2.6 6')
  check('192.0.2.0/31', '192.0.2.0 192.0.2.1 2')
  check('192.0.2.255 - 192.0.3.1', '192.0.2.255 192.0.3.1 3')
  check('2001:db8::/126', '2001:db8:: 2001:db8::3 4')
  check('192.0.2.7', '192.0.2.7 192.0.2.7 1')
  for (const text of ['', 'x', '192.0.2.2-192.0.2.1', '192.0.2.1-2001:db8::1', '1-2-3', '192.0.2.0/33']) {
    assert.throws(() => parseRange(text), /invalid address range/, text)
  }
  assert.ok(!isInRanges([parseRange('192.0.2.0/24')], parseIp('2001:db8::1')!))
})

const poolsMap = { namespace: 'kube-system', name: 'load-balancer-pools' }

async function applyPools(plane: TestControlPlane, data: Readonly<Record<string, string>>): Promise<void> {
  const known = await plane.run(plane.client.find(configMaps, poolsMap))
  if (known) await plane.change(configMaps, 'kube-system/load-balancer-pools', each => ({ ...each, data }))
  else await plane.create(configMaps, { metadata: poolsMap, data })
}

function poolOf(service: Service | undefined): string | undefined {
  return service?.metadata.annotations?.['k8ts.io/ip-allocated-from-pool']
}

test('pools are added, changed and shrunk while the controller runs', async t => {
  const plane = await start(t, [])
  await plane.create(services, serviceOf('a'))
  // Without a pool the service is left to another load balancer implementation.
  const left = await find(plane, 'a')
  assert.deepEqual([left?.metadata.finalizers ?? [], left?.status?.loadBalancer], [[], {}])
  assert.deepEqual(await reasonsOf(plane, 'a'), new Set())

  await applyPools(plane, { lan: 'addresses: [192.0.2.10-192.0.2.11]' })
  assert.deepEqual(await addressesOf(plane, 'a'), ['192.0.2.10'])
  assert.equal(poolOf(await find(plane, 'a')), 'lan')

  await applyPools(plane, { lan: 'addresses: [192.0.2.20' })
  await plane.create(services, serviceOf('b'))
  assert.deepEqual(await addressesOf(plane, 'b'), ['192.0.2.11'])
  const invalid = (await plane.list(events)).find(({ reason }) => reason === 'InvalidAddressPools')
  assert.match(invalid?.message ?? '', /^The address pools are unchanged: pool lan: invalid YAML: /)
  assert.equal(invalid?.involvedObject.name, 'load-balancer-pools')

  await applyPools(plane, { lan: 'addresses: [192.0.2.11-192.0.2.12]' })
  assert.deepEqual(await addressesOf(plane, 'a'), ['192.0.2.10'])
  assert.ok((await reasonsOf(plane, 'a')).has('AddressNotInPool'))
  assert.ok(!(await reasonsOf(plane, 'b')).has('AddressNotInPool'))
  await plane.change(services, 'default/a', each => ({
    ...each,
    spec: { ...each.spec, loadBalancerIP: '192.0.2.12' },
  }))
  assert.deepEqual(await addressesOf(plane, 'a'), ['192.0.2.12'])

  await plane.run(plane.client.delete(configMaps, poolsMap))
  await plane.settle()
  assert.deepEqual(await addressesOf(plane, 'b'), ['192.0.2.11'])
  await plane.change(services, 'default/b', each => ({ ...each, spec: { ...each.spec, type: 'ClusterIP' } }))
  assert.equal(poolOf(await find(plane, 'b')), undefined)
  assert.deepEqual(await addressesOf(plane, 'b'), [])
})

test('a written address needs no second pass, and two services share one', async t => {
  const plane = await start(t, ['192.0.2.7'])
  const annotations = { 'k8ts.io/allow-shared-ip': 'dns' }
  for (const [name, protocol] of [
    ['tcp', 'TCP'],
    ['udp', 'UDP'],
  ] as const) {
    const service = serviceOf(name, { ports: [{ port: 53, protocol }] })
    await plane.create(services, { ...service, metadata: { ...service.metadata, annotations } })
    assert.deepEqual(await addressesOf(plane, name), ['192.0.2.7'])
  }
  const ensured = (await plane.list(events)).filter(({ reason }) => reason === 'EnsuringLoadBalancer')
  assert.deepEqual(
    ensured.map(({ involvedObject, count }) => [involvedObject.name, count]),
    [
      ['tcp', 1],
      ['udp', 1],
    ],
  )
  // The port of the other service: the younger one loses the address.
  await plane.advance(1_000)
  await plane.change(services, 'default/udp', each => ({
    ...each,
    spec: { ...each.spec, ports: [{ port: 53, protocol: 'TCP' }] },
  }))
  assert.ok((await reasonsOf(plane, 'udp')).has('SyncLoadBalancerFailed'))
  assert.deepEqual(await addressesOf(plane, 'tcp'), ['192.0.2.7'])
  assert.deepEqual(await addressesOf(plane, 'udp'), [])
})
