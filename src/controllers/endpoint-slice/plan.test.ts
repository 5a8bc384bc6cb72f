import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node, Pod, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { managedBy, planSlices, type SlicesPlan, type SlicesWorld } from './plan.ts'
import { zoneShares } from './zone-shares.ts'
import { stored } from '../test-stored.ts'

const service: Stored<Service> = stored({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'default', name: 'web', uid: 'web-uid', labels: { team: 'a' } },
  spec: {
    clusterIP: '10.96.0.10',
    ipFamilies: ['IPv4'],
    selector: { app: 'web' },
    ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
  },
})

const labels = {
  'team': 'a',
  'kubernetes.io/service-name': 'web',
  'endpointslice.kubernetes.io/managed-by': managedBy,
}

/** `1` is a ready pod, `-1` one that is not ready, `1!` a terminating one. */
function podOf(notation: string): Stored<Pod> {
  const index = Math.abs(Number.parseInt(notation, 10))
  const isReady = !notation.startsWith('-')
  return stored({
    metadata: {
      namespace: 'default',
      name: `p${index}`,
      uid: `uid-${index}`,
      ...(notation.endsWith('!') && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: { nodeName: `n${index % 2}`, containers: [] },
    status: {
      phase: 'Running',
      podIPs: [{ ip: `10.0.${index >> 8}.${index & 255}` }, { ip: `fd00::${index.toString(16)}` }],
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    },
  })
}

function nodeOf(name: string): Node {
  return {
    metadata: { name, labels: { 'topology.kubernetes.io/zone': `zone-${name}` } },
    status: { allocatable: { cpu: '4' }, conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

function plan(
  pods: string,
  slices: readonly Stored<EndpointSlice>[],
  world: Partial<SlicesWorld> = {},
): SlicesPlan {
  return planSlices({
    service,
    pods: pods.split(' ').filter(Boolean).map(podOf),
    nodeOf,
    slices,
    maxEndpointsPerSlice: 3,
    triggerTime: undefined,
    shares: undefined,
    ...world,
  })
}

let named = 0

/** The slices in the store after performing a plan. */
function created(slices: readonly EndpointSlice[]): readonly Stored<EndpointSlice>[] {
  return slices.map(slice => stored({ ...slice, metadata: { name: `web-${named++}`, ...slice.metadata } }))
}

/** The numbers of the pods in each slice. */
function show(slices: readonly EndpointSlice[]): readonly string[] {
  return slices.map(({ endpoints = [] }) => endpoints.map(each => each.targetRef?.name?.slice(1)).join(' '))
}

test('endpoints fill slices, keep their slice, and few slices are written', () => {
  const check = (
    before: readonly string[],
    pods: string,
    expected: Partial<Record<keyof SlicesPlan, string[]>>,
  ) => {
    const slices = before.flatMap(each => created(plan(each, [], { maxEndpointsPerSlice: 9 }).create))
    const made = plan(pods, slices)
    const shown = { create: show(made.create), update: show(made.update), delete: show(made.delete) }
    assert.deepEqual(
      shown,
      { create: [], update: [], delete: [], ...expected },
      `${before.join(' | ')} -> ${pods}`,
    )
  }
  check([], '1 2 3 4', { create: ['1 2 3', '4'] })
  check(['1 2 3', '4'], '1 2 3 4', {})
  check(['1 2 3', '4'], '1 2 3 4 5', { update: ['4 5'] })
  check(['1 2 3', '4'], '1 3 4 5', { update: ['1 3 5'] })
  check(['1', '2 3'], '1 2 3 4', { update: ['2 3 4'] })
  check(['1 2 3', '4'], '1 2 3', { delete: ['4'] })
  check(['1 2 3', '4'], '1 2 3 5', { update: ['5'] })
  check(['1 2 3'], '1 2 3 4 5 6 7 8', { create: ['4 5 6', '7 8'] })
  check(['1 2'], '1 2 4 5 6 7', { create: ['4 5 6'], update: ['1 2 7'] })
  check(['1 2 3'], '1 2 -3', { update: ['1 2 3'] })
  check(['1 2', '2 3'], '1 2 3', { update: ['3'] })
  check(['1 2 3', '4 5'], '', { update: [''], delete: ['4 5'] })
  check([''], '', {})
  check(['', ''], '', { delete: [''] })
  check([''], '1', { update: ['1'] })
  check(['1'], '2', { update: ['2'] })
})

test('an endpoint has the node, zone and conditions of its pod', () => {
  const [slice] = plan('1 -2 3! -4!', [], {
    maxEndpointsPerSlice: 9,
    triggerTime: '2026-01-01T00:00:00Z',
  }).create
  assert.deepEqual(slice?.metadata, {
    namespace: 'default',
    generateName: 'web-',
    labels,
    annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' },
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'Service',
        name: 'web',
        uid: 'web-uid',
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  })
  assert.deepEqual(slice?.ports, [{ name: 'http', port: 8080, protocol: 'TCP' }])
  assert.deepEqual(slice?.endpoints?.[0], {
    addresses: ['10.0.0.1'],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: 'n1',
    zone: 'zone-n1',
    targetRef: { kind: 'Pod', namespace: 'default', name: 'p1', uid: 'uid-1' },
  })
  const conditions = slice?.endpoints?.map(({ conditions: each }) => [
    each?.ready,
    each?.serving,
    each?.terminating,
  ])
  assert.deepEqual(conditions, [
    [true, true, false],
    [false, false, false],
    [false, true, true],
    [false, false, true],
  ])
  const published = { ...service, spec: { ...service.spec, publishNotReadyAddresses: true } }
  const made = plan('-1 -2!', [], { service: published }).create[0]
  assert.deepEqual(
    made?.endpoints?.map(each => each.conditions?.ready),
    [true, true],
  )
})

test('a dual-stack service has slices of both IP families; those of a removed one are deleted', () => {
  const dual = { ...service, spec: { ...service.spec, ipFamilies: ['IPv6', 'IPv4'] } }
  const { create } = plan('1', [], { service: dual })
  assert.deepEqual(
    create.map(({ addressType, endpoints }) => [addressType, endpoints?.[0]?.addresses[0]]),
    [
      ['IPv4', '10.0.0.1'],
      ['IPv6', 'fd00::1'],
    ],
  )
  const single = plan('1', created(create))
  assert.deepEqual(
    single.delete.map(({ addressType }) => addressType),
    ['IPv6'],
  )
  assert.deepEqual([single.create, single.update], [[], []])
})

test('pods with the same ports share slices, and missing named ports are omitted', () => {
  const ports = [
    { name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' },
    { name: 'admin', port: 81, targetPort: 'admin', protocol: 'TCP' },
  ]
  const container = (name: string, containerPort: number) => ({
    name: 'c',
    image: 'c',
    ports: [{ name, containerPort, protocol: 'TCP' }],
  })
  const pods = [
    { ...podOf('1'), spec: { nodeName: 'n1', containers: [container('web', 8080)] } },
    { ...podOf('2'), spec: { nodeName: 'n1', containers: [container('web', 9090)] } },
    {
      ...podOf('3'),
      spec: {
        nodeName: 'n1',
        containers: [container('web', 8080)],
        initContainers: [{ ...container('admin', 8081), restartPolicy: 'Always' }],
      },
    },
    { ...podOf('4'), spec: { nodeName: 'n1', containers: [container('web', 8080)] } },
  ]
  const { create } = plan('', [], { pods, service: { ...service, spec: { ...service.spec, ports } } })
  assert.deepEqual(
    create.map(slice => [show([slice])[0], slice.ports?.map(({ name, port }) => `${name}:${port}`).join()]),
    [
      ['1 4', 'http:8080'],
      ['2', 'http:9090'],
      ['3', 'http:8080,admin:8081'],
    ],
  )
})

test('headless services are labelled, and slices of an earlier service are deleted', () => {
  const headless = { ...service, spec: { ...service.spec, clusterIP: 'None', ports: [] } }
  const { create } = plan('1', [], { service: headless })
  assert.equal(create[0]?.metadata.labels?.['service.kubernetes.io/headless'], '')
  assert.deepEqual(create[0]?.ports, [])
  const other = { ...service, metadata: { ...service.metadata, uid: 'other' } }
  const made = plan('1', created(create), { service: other })
  assert.deepEqual([show(made.create), show(made.update), show(made.delete)], [['1'], [], ['1']])
})

test('slices follow the labels of the service; a service being deleted gets none', () => {
  const slices = created(plan('1', []).create)
  const relabelled = { ...service, metadata: { ...service.metadata, labels: { team: 'b' } } }
  const { update } = plan('1', slices, { service: relabelled })
  assert.deepEqual(update[0]?.metadata.labels, { ...labels, team: 'b' })
  const going = { ...service, metadata: { ...service.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
  assert.deepEqual(plan('1', [], { service: going }).create, [])
})

test('traffic distribution sets and removes hints', () => {
  const distributed = (trafficDistribution: string): Stored<Service> => {
    return { ...service, spec: { ...service.spec, trafficDistribution } }
  }
  const check = (distribution: string, expected: unknown): void => {
    const { create } = plan('1 -2', [], { service: distributed(distribution) })
    assert.deepEqual(
      create[0]?.endpoints?.map(({ hints }) => hints),
      [expected, undefined],
    )
    assert.deepEqual(plan('1 -2', created(create), { service: distributed(distribution) }).update, [])
    const back = plan('1 -2', created(create)).update[0]
    assert.deepEqual(
      back?.endpoints?.map(({ hints }) => hints),
      [undefined, undefined],
    )
  }
  const forZones = [{ name: 'zone-n1' }]
  check('PreferClose', { forZones })
  check('PreferSameZone', { forZones })
  check('PreferSameNode', { forZones, forNodes: [{ name: 'n1' }] })
})

test('topology mode allocates endpoints to zones, or reports why not', () => {
  const annotations = { 'service.kubernetes.io/topology-mode': 'Auto' }
  const auto = { ...service, metadata: { ...service.metadata, annotations } }
  const shares = zoneShares([nodeOf('n0'), nodeOf('n1')])
  const world = { service: auto, shares, maxEndpointsPerSlice: 100 }
  const zones = (slices: readonly EndpointSlice[]): unknown => {
    const all = slices.flatMap(({ endpoints = [] }) => endpoints.map(each => each.hints?.forZones?.[0]?.name))
    return Object.fromEntries([...Map.groupBy(all, zone => zone)].map(([zone, each]) => [zone, each.length]))
  }
  const uneven = plan('1 3 5 7 9 2', [], world)
  assert.deepEqual(zones(uneven.create), { 'zone-n1': 3, 'zone-n0': 3 })
  assert.equal(uneven.zoneHints.get('IPv4'), 'on')
  assert.deepEqual(plan('1 3 5 7 9 2', created(uneven.create), world).update, [])
  const few = plan('1', created(uneven.create), world)
  assert.equal(few.zoneHints.get('IPv4'), 'Insufficient number of endpoints (1 endpoints, 2 zones)')
  assert.deepEqual(zones(few.update), { undefined: 1 })
  const unknown = plan('1 2', [], {
    ...world,
    shares: zoneShares([nodeOf('n0'), { metadata: { name: 'x' } }]),
  })
  assert.match(unknown.zoneHints.get('IPv4') ?? '', /^Insufficient Node information/)
})
