import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planGateways } from '../plan-gateways.ts'
import { conditionText, gateway, metadataOf, worldOf } from '../test-gateways.ts'
import { recordedPorts } from './gateway-service.ts'
import { allocatePorts, listenerPorts } from './node-ports.ts'

test('a Gateway has a Service whose EndpointSlice leads to the proxy', () => {
  const infrastructure = { labels: { team: 'a' }, annotations: { 'x.com/y': 'z' } }
  const addresses = [{ type: 'IPAddress', value: '203.0.113.1' }]
  const own = gateway('shop/gw', ['a HTTP:80', 'b HTTP:81', 'c HTTP:80 c.com'], { infrastructure, addresses })
  const [planned, ...others] = planGateways(worldOf({ gateways: [own] })).services
  assert.equal(others.length, 0)
  assert.deepEqual(planned?.service, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'gw-k8ts',
      namespace: 'shop',
      annotations: { 'x.com/y': 'z' },
      labels: {
        'team': 'a',
        'gateway.networking.k8s.io/gateway-name': 'gw',
        'app.kubernetes.io/managed-by': 'gateway-controller.k8ts.io',
      },
      ownerReferences: [
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'Gateway',
          name: 'gw',
          uid: own.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      type: 'LoadBalancer',
      allocateLoadBalancerNodePorts: false,
      ipFamilies: ['IPv4'],
      loadBalancerIP: '203.0.113.1',
      ports: [
        { name: 'port-80', port: 80, protocol: 'TCP' },
        { name: 'port-81', port: 81, protocol: 'TCP' },
      ],
    },
  })
  assert.deepEqual(planned.endpointSlice.endpoints, [
    { addresses: ['192.0.2.1'], conditions: { ready: true } },
  ])
  assert.deepEqual(recordedPorts(planned.endpointSlice), [
    { port: 80, nodePort: 20_000 },
    { port: 81, nodePort: 20_001 },
  ])
})

test('with the name of the node, the Service keeps the addresses of clients', () => {
  const world = worldOf({ gateways: [gateway('gw', ['a HTTP:80'])], nodeName: 'node-1' })
  const [planned] = planGateways(world).services
  assert.equal(planned?.service.spec?.externalTrafficPolicy, 'Local')
  assert.equal(planned.endpointSlice.endpoints?.[0]?.nodeName, 'node-1')
})

test('names of Services are DNS labels, and different for different Gateways', () => {
  const names = ['gw', 'a.b', 'a-b', '1st', 'x'.repeat(63), `${'x'.repeat(63)}.y`].map(name => {
    const { services } = planGateways(worldOf({ gateways: [gateway(name, ['a HTTP:80'])] }))
    return services[0]?.service.metadata
  })
  const made = names.map(each => each?.name ?? '')
  assert.equal(new Set(made).size, made.length)
  for (const name of made) assert.match(name, /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/)
  assert.deepEqual([made[0], made[2]], ['gw-k8ts', 'a-b-k8ts'])
  const labels = names.map(each => each?.labels?.['gateway.networking.k8s.io/gateway-name'] ?? '')
  assert.equal(labels[4], 'x'.repeat(63))
  for (const label of labels) assert.ok(label.length <= 63)
})

test('a Service of another owner is not replaced', () => {
  const foreign = { metadata: metadataOf('gw-k8ts') }
  const plan = planGateways(worldOf({ gateways: [gateway('gw', ['a HTTP:80'])], services: [[foreign]] }))
  assert.equal(plan.services.length, 0)
  assert.deepEqual(plan.gateways[0]?.status.conditions.map(conditionText), [
    'Accepted',
    'Programmed=False:AddressNotAssigned',
  ])
})

test('the Service of a Gateway that has another class now is obsolete', () => {
  const own = gateway('gw', ['a HTTP:80'])
  const service = planGateways(worldOf({ gateways: [own] })).services[0]!.service
  const stored = { ...service, metadata: { ...service.metadata, ...metadataOf('gw-k8ts') } }
  const obsolete = (gateways: readonly (typeof own)[]): number => {
    return planGateways(worldOf({ gateways, gatewayServices: [stored] })).obsoleteServices.length
  }
  assert.equal(obsolete([own]), 0)
  assert.equal(obsolete([{ ...own, spec: { ...own.spec, gatewayClassName: 'other' } }]), 1)
  // The garbage collector removes those of deleted Gateways.
  assert.equal(obsolete([]), 0)
})

test('ports are kept, and given in the order of the keys', () => {
  const { first, count } = listenerPorts
  const cases: readonly (readonly [keys: string, known: readonly [string, number][], expected: object])[] = [
    ['b a', [], { a: first, b: first + 1 }],
    ['a b c', [['b', first]], { a: first + 1, b: first, c: first + 2 }],
    ['a', [['gone', first]], { a: first + 1 }],
    [
      'a b',
      [
        ['a', first + 5],
        ['b', first + 5],
      ],
      { a: first + 5, b: first },
    ],
    ['a', [['a', 80]], { a: first }],
  ]
  for (const [keys, known, expected] of cases)
    assert.deepEqual(Object.fromEntries(allocatePorts(keys.split(' '), new Map(known)).ports), expected, keys)
  const many = Array.from({ length: count + 2 }, (_, i) => String(i).padStart(5, '0'))
  const { ports, unallocated } = allocatePorts(many, new Map())
  assert.deepEqual([ports.size, unallocated.length], [count, 2])
})

test('a Gateway without free ports says so', () => {
  const { first, count } = listenerPorts
  const allocatedPorts = new Map(Array.from({ length: count }, (_, i) => [`gone/${i}:80`, first + i]))
  const plan = planGateways(worldOf({ gateways: [gateway('gw', ['a HTTP:80'])], allocatedPorts }))
  assert.deepEqual(plan.gateways[0]?.status.conditions.map(conditionText), [
    'Accepted',
    'Programmed=False:NoResources',
  ])
  assert.deepEqual(plan.gateways[0]?.status.listeners[0]?.conditions.map(conditionText), [
    'Accepted',
    'Programmed=False:Invalid',
    'ResolvedRefs',
    'Conflicted=False:NoConflicts',
  ])
})
