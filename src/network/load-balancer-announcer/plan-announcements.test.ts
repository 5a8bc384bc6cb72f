import assert from 'node:assert/strict'
import test from 'node:test'
import { allocatedFromPoolAnnotation } from '#/api/core/load-balancers.ts'
import type { Node, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { planAnnouncements } from './plan-announcements.ts'

/** `name`, with `!` if it is not Ready, `-` if it is excluded, `x` if it is being deleted, `?` without a network. */
function nodeOf(text: string): Node {
  const name = text.replace(/[!x?-]$/, '')
  const conditions = [
    { type: 'Ready', status: text.endsWith('!') ? 'Unknown' : 'True' },
    { type: 'NetworkUnavailable', status: text.endsWith('?') ? 'True' : 'False' },
  ]
  const labels: Record<string, string> = text.endsWith('-')
    ? { 'node.kubernetes.io/exclude-from-external-load-balancers': '' }
    : {}
  const deletion = text.endsWith('x') ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
  const addresses = [{ type: 'InternalIP', address: `198.51.100.${name.slice(1)}` }]
  return { metadata: { name, labels, ...deletion }, status: { conditions, addresses } }
}

interface ServiceChoice {
  readonly policy?: 'Local'
  readonly ipMode?: string
  readonly type?: string
  readonly isForeign?: boolean
  readonly name?: string
}

function serviceOf(ips: string, choice: ServiceChoice = {}): Service {
  const {
    policy = 'Cluster',
    ipMode = 'VIP',
    type = 'LoadBalancer',
    isForeign = false,
    name = 'web',
  } = choice
  const annotations: Record<string, string> = isForeign ? {} : { [allocatedFromPoolAnnotation]: 'default' }
  const ingress = ips.split(' ').map(ip => ({ ip, ipMode }))
  return {
    metadata: { namespace: 'default', name, annotations },
    spec: { type, externalTrafficPolicy: policy },
    status: { loadBalancer: { ingress } },
  }
}

/** `n1 n2!`: nodes with an endpoint, `!` if it is not ready. */
function sliceOf(text: string, addressType = 'IPv4'): EndpointSlice {
  const endpoints = text.split(' ').map(each => ({
    addresses: ['10.244.0.1'],
    nodeName: each.replace('!', ''),
    conditions: { ready: !each.endsWith('!') },
  }))
  return { metadata: { name: 'slice' }, addressType, endpoints }
}

/** `address owner`, one for each address. */
function plan(
  nodes: string,
  services: readonly Service[],
  slices: readonly EndpointSlice[] = [],
): readonly string[] {
  const world = { services, nodes: nodes.split(' ').filter(Boolean).map(nodeOf), slicesOf: () => slices }
  return planAnnouncements(world).map(({ address, owner = 'none' }) => `${address} ${owner}`)
}

test('one eligible node owns an address', () => {
  const web = serviceOf('192.0.2.1')
  const owner = plan('n1 n2', [web])[0]!.split(' ')[1]!
  const other = owner === 'n1' ? 'n2' : 'n1'
  const cases: readonly (readonly [nodes: string, owner: string])[] = [
    ['', 'none'],
    ['n1', 'n1'],
    ['n2 n1', owner],
    [`${owner}! ${other}`, other],
    [`${owner}- ${other}`, other],
    [`${owner}x ${other}`, other],
    [`${owner}? ${other}`, other],
    [`${owner} ${other}!`, owner],
    ['n1! n2!', 'none'],
  ]
  for (const [nodes, expected] of cases)
    assert.deepEqual(plan(nodes, [web]), [`192.0.2.1 ${expected}`], nodes)
})

test('only unicast addresses of LoadBalancer services from address pools are announced', () => {
  const cases: readonly (readonly [service: Service, addresses: string])[] = [
    [serviceOf('192.0.2.1 2001:db8::1'), '192.0.2.1 2001:db8::1'],
    [serviceOf('2001:db8:0::1'), '2001:db8::1'],
    [serviceOf('192.0.2.1', { isForeign: true }), ''],
    [serviceOf('192.0.2.1', { ipMode: 'Proxy' }), ''],
    [serviceOf('192.0.2.1', { type: 'ClusterIP' }), ''],
    [serviceOf('127.0.0.1 0.0.0.0 169.254.1.1 224.1.1.1 255.255.255.255 ff02::1 ff0e::1 fe80::1 ::1 x'), ''],
    // The address of a node is its own.
    [serviceOf('198.51.100.1'), ''],
  ]
  for (const [service, addresses] of cases) {
    const found = plan('n1', [service]).map(each => each.split(' ')[0])
    assert.equal(found.join(' '), addresses)
  }
})

test('with externalTrafficPolicy Local a node with a ready endpoint of the family owns the address', () => {
  const local = serviceOf('192.0.2.1', { policy: 'Local' })
  const dual = serviceOf('192.0.2.1 2001:db8::1', { policy: 'Local' })
  const all = 'n1 n2 n3 n4!'
  assert.deepEqual(plan(all, [local], [sliceOf('n1! n2 n4')]), ['192.0.2.1 n2'])
  assert.deepEqual(plan(all, [local], [sliceOf('n1!'), sliceOf('n3')]), ['192.0.2.1 n3'])
  assert.deepEqual(plan(all, [local], [sliceOf('n1! n2!')]), ['192.0.2.1 none'])
  assert.deepEqual(plan(all, [local], []), ['192.0.2.1 none'])
  assert.deepEqual(plan(all, [dual], [sliceOf('n1'), sliceOf('n3', 'IPv6')]), [
    '192.0.2.1 n1',
    '2001:db8::1 n3',
  ])
  const [shared] = plan(all, [serviceOf('192.0.2.1', { name: 'other' }), local], [sliceOf('n2')])
  assert.equal(shared, '192.0.2.1 n2')
})

const addresses = Array.from({ length: 240 }, (_, index) => `192.0.2.${index + 1}`)
const many = addresses.map((address, index) => serviceOf(address, { name: `s${index}` }))

function ownersOf(nodes: string): ReadonlyMap<string, string> {
  return new Map(plan(nodes, many).map(each => each.split(' ') as [string, string]))
}

test('an address moves only when its owner goes or a new node becomes its owner', () => {
  const six = ownersOf('n1 n2 n3 n4 n5 n6')
  const five = ownersOf('n1 n2 n3! n4 n5 n6')
  const seven = ownersOf('n7 n6 n5 n4 n3 n2 n1')
  for (const [address, owner] of six) {
    if (owner !== 'n3') assert.equal(five.get(address), owner)
    assert.ok([owner, 'n7'].includes(seven.get(address)!))
  }
})

test('addresses are spread over the nodes', () => {
  const counts = new Map<string, number>()
  for (const owner of ownersOf('n1 n2 n3 n4 n5 n6').values()) counts.set(owner, (counts.get(owner) ?? 0) + 1)
  assert.equal(counts.size, 6)
  // 40 each on average.
  for (const count of counts.values()) assert.ok(count > 20 && count < 60, [...counts].join(' '))
})
