/**
 * Services with their Endpoints and EndpointSlices: the conformance tests that need no containers, and more.
 * The test acts as scheduler and kubelet.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, Pod, Service } from '#/api/generated/core/v1.ts'
import { endpoints, events, nodes, pods, services } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { endpointSliceMirroringController } from './endpoint-slice-mirroring.ts'
import { endpointSliceController } from './endpoint-slice.ts'
import { endpointsController } from './endpoints.ts'
import { garbageCollectorController } from './garbage-collector.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { crashingController } from './test-crashes.ts'
import { runningPod } from './test-pods.ts'

const controllers = [
  endpointSliceController(),
  endpointsController(),
  endpointSliceMirroringController,
  garbageCollectorController,
]

const namespace = 'default'

function serviceOf(spec: Service['spec'] = {}): Service {
  const ports = [{ name: 'http', port: 80, targetPort: 8080 }]
  return { metadata: { namespace, name: 'web' }, spec: { selector: { app: 'web' }, ports, ...spec } }
}

/** A running pod on the node, with an address that ends with the number. */
async function runPod(
  plane: TestControlPlane,
  index: number,
  containerPorts: Container['ports'] = [],
): Promise<void> {
  const name = `pod-${index}`
  const containers = [{ name: 'web', image: 'web', ports: containerPorts }]
  const pod: Pod = {
    metadata: { namespace, name, labels: { app: 'web' } },
    spec: { nodeName: 'n1', containers },
  }
  await plane.create(pods, pod)
  await plane.changeStatus(pods, `${namespace}/${name}`, each => {
    const running = runningPod(each, plane.platform.clock.now())
    const ip = `10.0.0.${index}`
    return { ...running, status: { ...running.status, podIP: ip, podIPs: [{ ip }] } }
  })
}

async function removePod(plane: TestControlPlane, index: number): Promise<void> {
  await plane.run(plane.client.delete(pods, { namespace, name: `pod-${index}` }, { gracePeriodSeconds: 0 }))
  await plane.settle()
}

async function start(t: Parameters<typeof startTestControlPlane>[0]): Promise<TestControlPlane> {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(nodes, { metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'z1' } } })
  return plane
}

async function slicesOf(plane: TestControlPlane, name: string): Promise<readonly Stored<EndpointSlice>[]> {
  return (await plane.list(endpointSlices, namespace)).filter(slice => {
    return slice.metadata.labels?.['kubernetes.io/service-name'] === name
  })
}

/** `10.0.0.1:80,81` for each address and its ports; checks that slices and Endpoints agree. */
async function offered(plane: TestControlPlane, name = 'web'): Promise<readonly string[]> {
  const byAddress = new Map<string, Set<number>>()
  const older = new Map<string, Set<number>>()
  const add = (map: Map<string, Set<number>>, ip: string, ports: readonly number[]): void => {
    const known = map.get(ip) ?? new Set()
    map.set(ip, known)
    for (const port of ports) known.add(port)
  }
  for (const { endpoints: list = [], ports = [] } of await slicesOf(plane, name)) {
    const numbers = ports.map(({ port = 0 }) => port)
    for (const { addresses, conditions } of list)
      if (conditions?.ready) add(byAddress, addresses[0]!, numbers)
  }
  const found = (await plane.list(endpoints, namespace)).find(each => each.metadata.name === name)
  for (const { addresses = [], ports = [] } of found?.subsets ?? []) {
    for (const { ip } of addresses)
      add(
        older,
        ip,
        ports.map(({ port }) => port),
      )
  }
  const show = (map: Map<string, Set<number>>): readonly string[] => {
    return [...map].map(([ip, ports]) => `${ip}:${[...ports].toSorted((a, b) => a - b).join()}`).sort()
  }
  assert.deepEqual(show(older), show(byAddress))
  return show(byAddress)
}

test('endpoints follow added and deleted pods of a service', async t => {
  const plane = await start(t)
  await plane.create(services, serviceOf())
  assert.deepEqual(await offered(plane), [])
  await runPod(plane, 1)
  assert.deepEqual(await offered(plane), ['10.0.0.1:8080'])
  await runPod(plane, 2)
  assert.deepEqual(await offered(plane), ['10.0.0.1:8080', '10.0.0.2:8080'])
  const [slice, ...others] = await slicesOf(plane, 'web')
  assert.equal(others.length, 0)
  assert.equal(slice?.endpoints?.[0]?.zone, 'z1')
  await removePod(plane, 2)
  assert.deepEqual(await offered(plane), ['10.0.0.1:8080'])
  await removePod(plane, 1)
  assert.deepEqual(await offered(plane), [])
  assert.equal((await slicesOf(plane, 'web')).length, 1)
})

test('pods that have one of two service ports are listed with that port', async t => {
  const plane = await start(t)
  const ports = [
    { name: 'one', port: 80, targetPort: 'one' },
    { name: 'two', port: 81, targetPort: 'two' },
  ]
  await plane.create(services, serviceOf({ ports }))
  await runPod(plane, 1, [{ name: 'one', containerPort: 100 }])
  assert.deepEqual(await offered(plane), ['10.0.0.1:100'])
  await runPod(plane, 2, [{ name: 'two', containerPort: 101 }])
  assert.deepEqual(await offered(plane), ['10.0.0.1:100', '10.0.0.2:101'])
  await removePod(plane, 1)
  assert.deepEqual(await offered(plane), ['10.0.0.2:101'])
  await removePod(plane, 2)
  assert.deepEqual(await offered(plane), [])
})

test('one port number with two protocols gives two ports, and either can be removed', async t => {
  const plane = await start(t)
  const both = [
    { name: 'tcp', port: 80, targetPort: 80, protocol: 'TCP' },
    { name: 'udp', port: 80, targetPort: 80, protocol: 'UDP' },
  ]
  await plane.create(services, serviceOf({ ports: both }))
  await runPod(plane, 1)
  const protocols = async (): Promise<unknown> => {
    return (await slicesOf(plane, 'web')).map(({ ports }) => ports?.map(({ protocol }) => protocol))
  }
  assert.deepEqual(await protocols(), [['TCP', 'UDP']])
  for (const port of both) {
    await plane.change(services, `${namespace}/web`, each => ({
      ...each,
      spec: { ...each.spec, ports: [port] },
    }))
    assert.deepEqual(await protocols(), [[port.protocol]])
  }
})

test('a service without pods has an empty slice and Endpoints, deleted with it', async t => {
  const plane = await start(t)
  await plane.create(services, serviceOf())
  const [slice] = await slicesOf(plane, 'web')
  assert.deepEqual([slice?.endpoints ?? [], slice?.ports ?? []], [[], []])
  assert.equal(slice?.metadata.ownerReferences?.[0]?.kind, 'Service')
  assert.equal(
    slice?.metadata.labels?.['endpointslice.kubernetes.io/managed-by'],
    'endpointslice-controller.k8s.io',
  )
  assert.equal((await plane.list(endpoints, namespace))[0]?.metadata.name, 'web')
  await plane.run(plane.client.delete(services, { namespace, name: 'web' }))
  await plane.advance(3_000)
  assert.deepEqual(await slicesOf(plane, 'web'), [])
  assert.deepEqual(await plane.list(endpoints, namespace), [])
})

test('not ready and terminating pods have these endpoint conditions', async t => {
  const plane = await start(t)
  await plane.create(services, serviceOf())
  await runPod(plane, 1)
  const conditions = async (): Promise<unknown> => {
    return (await slicesOf(plane, 'web'))[0]?.endpoints?.map(({ conditions: each }) => each)
  }
  await plane.changeStatus(pods, `${namespace}/pod-1`, pod => {
    const failing = runningPod(pod, plane.platform.clock.now(), 'False')
    return { ...failing, status: { ...pod.status, ...failing.status } }
  })
  assert.deepEqual(await conditions(), [{ ready: false, serving: false, terminating: false }])
  const [before] = await plane.list(endpoints, namespace)
  assert.equal(before?.subsets?.[0]?.notReadyAddresses?.[0]?.ip, '10.0.0.1')
  await plane.changeStatus(pods, `${namespace}/pod-1`, pod => {
    const running = runningPod(pod, plane.platform.clock.now())
    return { ...running, status: { ...pod.status, ...running.status } }
  })
  await plane.run(plane.client.delete(pods, { namespace, name: 'pod-1' }))
  await plane.settle()
  assert.deepEqual(await conditions(), [{ ready: false, serving: true, terminating: true }])
  assert.deepEqual((await plane.list(endpoints, namespace))[0]?.subsets ?? [], [])
})

test('changed slices are repaired, and nothing is written without changes', async t => {
  const plane = await start(t)
  await plane.create(services, serviceOf())
  await runPod(plane, 1)
  const [slice] = await slicesOf(plane, 'web')
  const name = slice?.metadata.name ?? ''
  await plane.change(endpointSlices, `${namespace}/${name}`, each => ({ ...each, endpoints: [] }))
  await plane.advance(2_000)
  assert.deepEqual(await offered(plane), ['10.0.0.1:8080'])
  await plane.run(
    plane.client.delete(endpointSlices, {
      namespace,
      name: (await slicesOf(plane, 'web'))[0]!.metadata.name,
    }),
  )
  await plane.run(plane.client.delete(endpoints, { namespace, name: 'web' }))
  await plane.advance(2_000)
  assert.deepEqual(await offered(plane), ['10.0.0.1:8080'])
  const versions = async (): Promise<unknown> => {
    const all = [...(await slicesOf(plane, 'web')), ...(await plane.list(endpoints, namespace))]
    return all.map(({ metadata }) => metadata.resourceVersion)
  }
  const before = await versions()
  await plane.changeStatus(pods, `${namespace}/pod-1`, pod => ({
    ...pod,
    status: { ...pod.status, message: 'x' },
  }))
  await plane.change(services, `${namespace}/web`, each => ({
    ...each,
    spec: { ...each.spec, sessionAffinity: 'ClientIP' },
  }))
  await plane.advance(5_000)
  assert.deepEqual(await versions(), before)
})

test('an endpoint appears when the node of its pod exists, and gets its zone', async t => {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(services, serviceOf())
  await runPod(plane, 1)
  assert.deepEqual((await slicesOf(plane, 'web'))[0]?.endpoints ?? [], [])
  await plane.create(nodes, { metadata: { name: 'n1' } })
  assert.equal((await slicesOf(plane, 'web'))[0]?.endpoints?.[0]?.zone, undefined)
  await plane.change(nodes, 'n1', node => ({
    ...node,
    metadata: { ...node.metadata, labels: { 'topology.kubernetes.io/zone': 'z9' } },
  }))
  assert.equal((await slicesOf(plane, 'web'))[0]?.endpoints?.[0]?.zone, 'z9')
})

test('slices hold 100 endpoints, and one more pod changes one slice', async t => {
  const plane = await start(t)
  const nowMs = plane.platform.clock.now()
  const make = async (index: number): Promise<void> => {
    const metadata = { namespace, name: `pod-${index}`, labels: { app: 'web' } }
    const spec = { nodeName: 'n1', containers: [{ name: 'web', image: 'web' }] }
    const made = runningPod(await plane.client.create(pods, { metadata, spec }), nowMs)
    const ip = `10.1.${index >> 8}.${index & 255}`
    await plane.client.updateStatus(pods, {
      ...made,
      status: { ...made.status, podIP: ip, podIPs: [{ ip }] },
    })
  }
  await plane.run(Promise.all(Array.from({ length: 250 }, (_, index) => make(index))))
  await plane.create(services, serviceOf())
  const sizes = async (): Promise<readonly number[]> => {
    return (await slicesOf(plane, 'web')).map(slice => slice.endpoints?.length ?? 0).sort((a, b) => a - b)
  }
  assert.deepEqual(await sizes(), [50, 100, 100])
  const before = new Map(
    (await slicesOf(plane, 'web')).map(({ metadata }) => [metadata.name, metadata.resourceVersion]),
  )
  await plane.run(make(250))
  await plane.settle()
  assert.deepEqual(await sizes(), [51, 100, 100])
  const changed = (await slicesOf(plane, 'web')).filter(({ metadata }) => {
    return before.get(metadata.name) !== metadata.resourceVersion
  })
  assert.equal(changed.length, 1)
})

test('after a crash at any write, every pod is in exactly one slice', async t => {
  for (let writes = 1; ; writes++) {
    const { controller, hasCrashed } = crashingController(
      endpointSliceController({ maxEndpointsPerSlice: 2 }),
      writes,
    )
    const plane = await startTestControlPlane(t, [controller, endpointsController()])
    await plane.create(nodes, { metadata: { name: 'n1' } })
    await plane.create(services, serviceOf())
    for (const index of [1, 2, 3, 4, 5]) await runPod(plane, index)
    await removePod(plane, 1)
    await plane.change(services, `${namespace}/web`, each => {
      return { ...each, spec: { ...each.spec, ports: [{ name: 'http', port: 80, targetPort: 9090 }] } }
    })
    await plane.advance(5_000)
    const all = (await slicesOf(plane, 'web')).flatMap(slice => slice.endpoints ?? [])
    assert.equal(all.length, 4, `after ${writes} writes`)
    assert.deepEqual(
      await offered(plane),
      [2, 3, 4, 5].map(index => `10.0.0.${index}:9090`),
    )
    if (!hasCrashed()) return assert.ok(writes > 5)
  }
})

test('services of type ExternalName have no endpoints until their type changes', async t => {
  const plane = await start(t)
  await runPod(plane, 1)
  const external = {
    metadata: { namespace, name: 'web' },
    spec: { type: 'ExternalName', externalName: 'example.com' },
  }
  const made = await plane.create(services, external)
  assert.equal(made.spec?.clusterIP, undefined)
  assert.deepEqual(await slicesOf(plane, 'web'), [])
  await plane.change(services, `${namespace}/web`, each => {
    const { externalName: _name, ...spec } = each.spec ?? {}
    const ports = [{ name: 'http', port: 80, targetPort: 8080 }]
    return { ...each, spec: { ...spec, type: 'NodePort', selector: { app: 'web' }, ports } }
  })
  const changed = (await plane.list(services, namespace)).find(each => each.metadata.name === 'web')
  assert.ok(changed?.spec?.clusterIP)
  assert.ok(changed.spec.ports?.[0]?.nodePort)
  assert.deepEqual(await offered(plane), ['10.0.0.1:8080'])
})

test('a service changed to ExternalName releases its cluster IP and node port', async t => {
  const plane = await start(t)
  const { spec } = await plane.create(services, serviceOf({ type: 'NodePort' }))
  const nodePort = spec?.ports?.[0]?.nodePort ?? 0
  await plane.change(services, `${namespace}/web`, each => {
    return { ...each, spec: { ...each.spec, type: 'ExternalName', externalName: 'example.com' } }
  })
  const external = (await plane.list(services, namespace)).find(each => each.metadata.name === 'web')
  assert.equal(external?.spec?.clusterIP, undefined)
  const again = {
    ...serviceOf({ type: 'NodePort', clusterIP: spec?.clusterIP ?? '', ports: [{ port: 80, nodePort }] }),
    metadata: { namespace, name: 'again' },
  }
  const made = await plane.create(services, again)
  assert.deepEqual([made.spec?.clusterIP, made.spec?.ports?.[0]?.nodePort], [spec?.clusterIP, nodePort])
})

test('services deleted by label leave no endpoints, others stay', async t => {
  const plane = await start(t)
  for (const [name, team] of Object.entries({ one: 'a', two: 'a', three: 'b' })) {
    await plane.create(services, { ...serviceOf(), metadata: { namespace, name, labels: { team } } })
  }
  await plane.run(plane.client.deleteCollection(services, { namespace, labelSelector: 'team=a' }))
  await plane.advance(3_000)
  const names = (await plane.list(services, namespace)).map(({ metadata }) => metadata.name)
  assert.deepEqual(names.sort(), ['kubernetes', 'three'])
  const owners = (await plane.list(endpointSlices, namespace)).map(({ metadata }) => {
    return metadata.ownerReferences?.[0]?.name
  })
  assert.deepEqual(owners, ['three'])
  assert.deepEqual(
    (await plane.list(endpoints, namespace)).map(({ metadata }) => metadata.name),
    ['three'],
  )
})

test('custom Endpoints of a service without a selector are mirrored, updated and deleted', async t => {
  const plane = await start(t)
  const name = 'db'
  await plane.create(services, { metadata: { namespace, name }, spec: { ports: [{ port: 80 }] } })
  await plane.create(endpoints, {
    metadata: { namespace, name, annotations: { note: 'x' } },
    subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }],
  })
  assert.deepEqual(await offered(plane, name), ['10.1.2.3:80'])
  const [slice] = await slicesOf(plane, name)
  assert.equal(
    slice?.metadata.labels?.['endpointslice.kubernetes.io/managed-by'],
    'endpointslicemirroring-controller.k8s.io',
  )
  assert.equal(slice?.metadata.annotations?.['note'], 'x')
  await plane.change(endpoints, `${namespace}/${name}`, each => ({
    ...each,
    subsets: [{ addresses: [{ ip: '10.2.3.4' }], ports: [{ port: 80 }] }],
  }))
  assert.deepEqual(await offered(plane, name), ['10.2.3.4:80'])
  await plane.run(plane.client.delete(endpoints, { namespace, name }))
  await plane.settle()
  assert.deepEqual(await slicesOf(plane, name), [])
})

test('Endpoints with skip-mirror or without a service are not mirrored', async t => {
  const plane = await start(t)
  const subsets = [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }]
  const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' }
  await plane.create(services, { metadata: { namespace, name: 'db' }, spec: { ports: [{ port: 80 }] } })
  await plane.create(endpoints, { metadata: { namespace, name: 'db', labels }, subsets })
  await plane.create(endpoints, { metadata: { namespace, name: 'alone' }, subsets })
  assert.deepEqual([...(await slicesOf(plane, 'db')), ...(await slicesOf(plane, 'alone'))], [])
  await plane.change(endpoints, `${namespace}/db`, each => ({
    ...each,
    metadata: { ...each.metadata, labels: {} },
  }))
  assert.equal((await slicesOf(plane, 'db')).length, 1)
  await plane.change(endpoints, `${namespace}/alone`, each => ({
    ...each,
    metadata: { ...each.metadata, labels: { patched: 'yes' } },
  }))
  const names = (await plane.list(endpoints, namespace)).map(({ metadata }) => metadata.name)
  assert.deepEqual(names.sort(), ['alone', 'db'])
})

test('custom slices of a service without a selector are not changed', async t => {
  const plane = await start(t)
  await plane.create(services, {
    metadata: { namespace, name: 'db' },
    spec: { ports: [{ name: 'a', port: 80 }] },
  })
  for (const port of [100, 200]) {
    await plane.create(endpointSlices, {
      metadata: { namespace, name: `db-${port}`, labels: { 'kubernetes.io/service-name': 'db' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.1.2.3'] }],
      ports: [{ name: 'a', port }],
    })
  }
  await plane.advance(5_000)
  const written = await slicesOf(plane, 'db')
  assert.deepEqual(
    written.map(({ metadata, ports }) => [metadata.generation, ports?.[0]?.port]),
    [
      [1, 100],
      [1, 200],
    ],
  )
})

test('events report when topology aware hints are enabled or disabled', async t => {
  const plane = await start(t)
  const annotations = { 'service.kubernetes.io/topology-mode': 'Auto' }
  const auto = serviceOf()
  await plane.create(services, { ...auto, metadata: { ...auto.metadata, annotations } })
  await runPod(plane, 1)
  await plane.advance(3_000)
  const said = (await plane.list(events)).filter(({ reason }) => reason === 'TopologyAwareHintsDisabled')
  assert.deepEqual(
    new Set(said.map(({ message }) => message)),
    new Set([
      'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes, addressType: IPv4',
    ]),
  )
})
