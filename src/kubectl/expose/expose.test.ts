import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#/api/text/json-object.ts'
import { portProtocols, selectorLabels } from './exposed-object.ts'
import { planService, type ServiceRequest } from './plan-service.ts'

const selector = { app: 'web' }

interface PlannedPort {
  readonly name?: string
  readonly port: number
  readonly protocol: string
  readonly targetPort: number | string
}

/** `name:port/protocol>targetPort` of each port, or the message of the error. */
function portsOf(request: Partial<ServiceRequest>): string {
  try {
    const { spec } = planService({ name: 'web', selector, ports: [], ...request })
    const { ports = [] } = spec as { readonly ports?: readonly PlannedPort[] }
    return ports
      .map(({ name = '', port, protocol, targetPort }) => `${name}:${port}/${protocol}>${targetPort}`)
      .join(' ')
  } catch (error) {
    return (error as Error).message
  }
}

const dns = new Map([
  ['53', ['UDP', 'TCP']],
  ['80', ['TCP']],
])

for (const [request, expected] of [
  [{ ports: ['80'] }, ':80/TCP>80'],
  [{ ports: ['80'], targetPort: 'http' }, ':80/TCP>http'],
  [{ ports: ['80'], targetPort: '8080' }, ':80/TCP>8080'],
  [{ ports: ['80', '443'] }, 'port-1:80/TCP>80 port-2:443/TCP>443'],
  [{ ports: ['53', '80'], protocols: dns }, 'port-1-udp:53/UDP>53 port-1-tcp:53/TCP>53 port-2:80/TCP>80'],
  [{ ports: ['53'], protocols: dns }, 'port-1-udp:53/UDP>53 port-1-tcp:53/TCP>53'],
  [{ ports: ['53'], protocols: dns, protocol: 'SCTP' }, ':53/SCTP>53'],
  [{ ports: [] }, ''],
  [{ ports: ['http'] }, 'strconv.Atoi: parsing "http": invalid syntax'],
  [{ ports: ['80'], sessionAffinity: 'Often' }, 'unknown session affinity: Often'],
] as const satisfies readonly (readonly [Partial<ServiceRequest>, string])[]) {
  test(`the ports for ${JSON.stringify({ ...request, protocols: undefined })} are ${expected}`, () => {
    assert.equal(portsOf(request), expected)
  })
}

test('the address of a load balancer is ignored for other types', () => {
  const specOf = (type: string) =>
    planService({ name: 'a', selector, ports: [], type, loadBalancerIP: '1.2.3.4' })['spec']
  assert.deepEqual(specOf('LoadBalancer'), { selector, type: 'LoadBalancer', loadBalancerIP: '1.2.3.4' })
  assert.deepEqual(specOf('NodePort'), { selector, type: 'NodePort' })
})

function selectorOf(kind: string, object: JsonObject): string {
  try {
    return JSON.stringify(selectorLabels(kind, object))
  } catch (error) {
    return (error as Error).message
  }
}

const matchExpressions = [{ key: 'a', operator: 'In', values: ['b', 'c'] }]

for (const [kind, object, expected] of [
  ['Pod', { metadata: { labels: { a: 'b' } } }, '{"a":"b"}'],
  ['Pod', { metadata: {} }, 'the pod has no labels and cannot be exposed'],
  ['Service', { spec: { selector: { a: 'b' } } }, '{"a":"b"}'],
  ['Service', { spec: {} }, 'the service has no pod selector set'],
  ['ReplicationController', { spec: { selector: { a: 'b' } } }, '{"a":"b"}'],
  ['Deployment', { spec: { selector: { matchLabels: { a: 'b' } } } }, '{"a":"b"}'],
  ['ReplicaSet', { spec: {} }, 'invalid replicaset: no selectors, therefore cannot be exposed'],
  [
    'Deployment',
    { spec: { selector: { matchLabels: { a: 'b' }, matchExpressions } } },
    `couldn't convert expressions - "[{Key:a Operator:In Values:[b c]}]" to map-based selector format`,
  ],
] as const satisfies readonly (readonly [string, JsonObject, string])[]) {
  test(`the selector of a ${kind} with ${JSON.stringify(object)} is ${expected}`, () => {
    assert.equal(selectorOf(kind, object), expected)
  })
}

test('ports of containers have their protocols, in order and once', () => {
  const ports: JsonObject[] = [
    { containerPort: 53, protocol: 'UDP' },
    { containerPort: 80 },
    { containerPort: 53 },
  ]
  const pod = { spec: { containers: [{ name: 'a', image: 'b', ports }] } }
  assert.deepEqual(
    [...portProtocols('Pod', pod)],
    [
      ['53', ['UDP', 'TCP']],
      ['80', ['TCP']],
    ],
  )
  assert.deepEqual([...portProtocols('Deployment', { spec: { template: pod } })].length, 2)
  assert.deepEqual([...portProtocols('Service', { spec: { ports: [{ port: 9 }] } })], [['9', ['TCP']]])
})
