import assert from 'node:assert/strict'
import test from 'node:test'
import type { Service, ServiceSpec } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { planService, type ServiceEndpoint, type PortPlan, type ServicePlan } from './plan.ts'
import { service, slice } from './test-services.ts'

function plan(of: Service, slices: readonly EndpointSlice[], zone = ''): ServicePlan {
  return planService({ service: of, slices, node: { name: 'a', zone }, families: [4, 6] })
}

/** `internal external | cluster | local`, endpoints as the last part of their addresses. */
function summary({ internal, external, endpoints: { cluster, local } }: PortPlan): string {
  const ends = (backends: readonly ServiceEndpoint[]): string => {
    return backends.map(({ address }) => address.split(/[.:]/).at(-1)).join(' ')
  }
  return `${internal} ${external} | ${ends(cluster)} | ${ends(local)}`
}

test('endpoint selection, and the action without endpoints', () => {
  const local = { internalTrafficPolicy: 'Local' }
  const node = { type: 'NodePort', ports: [{ name: 'http', port: 80, nodePort: 30080 }] }
  const nodeLocal = { ...node, externalTrafficPolicy: 'Local' }
  const cases: readonly (readonly [spec: ServiceSpec, endpoints: string, expected: string])[] = [
    [{}, '', 'reject reject |  | '],
    [{}, '10.244.0.1@a', 'cluster cluster | 1 | '],
    [{}, '10.244.1.2@b; 10.244.0.1@a; 10.244.0.3@a unready', 'cluster cluster | 1 2 | '],
    [{}, '10.244.0.3@a unready', 'reject reject |  | '],
    [{}, '10.244.0.3@a terminating', 'cluster cluster | 3 | '],
    [{}, '10.244.0.3@a ending', 'reject reject |  | '],
    [{}, '10.244.0.1@b; 10.244.0.3@a terminating', 'cluster cluster | 1 | '],
    [local, '10.244.0.1@a; 10.244.1.2@b', 'local cluster |  | 1'],
    [local, '10.244.1.2@b', 'drop cluster |  | '],
    [local, '10.244.1.2@b; 10.244.0.3@a terminating', 'local cluster |  | 3'],
    [local, '', 'reject reject |  | '],
    [node, '10.244.0.1@a; 10.244.1.2@b', 'cluster cluster | 1 2 | '],
    [nodeLocal, '10.244.0.1@a; 10.244.1.2@b', 'cluster local | 1 2 | 1'],
    [nodeLocal, '10.244.1.2@b', 'cluster drop | 2 | '],
    [nodeLocal, '10.244.1.2@b; 10.244.0.3@a terminating', 'cluster local | 2 | 3'],
    [nodeLocal, '', 'reject reject |  | '],
    [{ ...nodeLocal, ...local }, '10.244.1.2@b', 'drop drop | 2 | '],
    // Without external addresses the external traffic policy has no effect.
    [{ externalTrafficPolicy: 'Local' }, '10.244.1.2@b', 'cluster cluster | 2 | '],
  ]
  for (const [spec, endpoints, expected] of cases) {
    const slices = endpoints === '' ? [] : [slice(endpoints.split('; '))]
    assert.deepEqual(
      plan(service(spec), slices).ports.map(summary),
      [expected],
      JSON.stringify([spec, endpoints]),
    )
  }
})

test('topology hints are used unless an endpoint has none or none is for this zone', () => {
  const cases: readonly (readonly [endpoints: string, zone: string, expected: string])[] = [
    ['10.244.0.1@a zone=x; 10.244.1.2@b zone=y', 'x', '1'],
    ['10.244.0.1@a zone=x; 10.244.1.2@b zone=y', 'z', '1 2'],
    ['10.244.0.1@a zone=x; 10.244.1.2@b zone=y', '', '1 2'],
    ['10.244.0.1@a zone=x; 10.244.1.2@b', 'x', '1 2'],
    ['10.244.0.1@a zone=x node=a; 10.244.1.2@b zone=x node=b', 'x', '1'],
    ['10.244.0.1@a zone=x node=c; 10.244.1.2@b zone=x node=b', 'x', '1 2'],
    ['10.244.0.1@a zone=x,y; 10.244.1.2@b zone=y', 'y', '1 2'],
    // Hints of endpoints that are not ready are ignored.
    ['10.244.0.1@a zone=x; 10.244.1.2@b unready; 10.244.1.3@b zone=y', 'y', '3'],
    ['10.244.0.1@a zone=x terminating; 10.244.1.3@b zone=y terminating', 'y', '1 3'],
  ]
  for (const [endpoints, zone, expected] of cases) {
    const [port] = plan(service({}), [slice(endpoints.split('; '))], zone).ports
    assert.equal(summary(port!).split(' | ')[1], expected, `${endpoints} in ${zone}`)
  }
})

test('each service port collects endpoints by name and protocol from all slices', () => {
  const ports = [
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'dns-tcp', port: 53, protocol: 'TCP' },
    { name: 'metrics', port: 9153 },
  ]
  const slices = [
    slice(['10.244.0.1@a'], {
      ports: [
        { name: 'dns', port: 1053, protocol: 'UDP' },
        { name: 'dns-tcp', port: 1053, protocol: 'TCP' },
        { name: 'metrics', protocol: 'TCP' },
      ],
    }),
    slice(['10.244.1.2@b', '10.244.0.1@a unready', 'nonsense'], {
      ports: [
        { name: 'dns', port: 2053, protocol: 'UDP' },
        { name: 'dns', port: 1053, protocol: 'TCP' },
        { name: 'dns', port: 1053, protocol: 'UDP' },
      ],
    }),
    slice(['fd00::1@a']),
  ]
  const planned = plan(service({ ports }), slices).ports.map(({ id, protocol, port, endpoints }) => {
    return [
      id,
      `${protocol} ${port}`,
      endpoints.cluster.map(({ address, port: at }) => `${address} ${at}`).join(', '),
    ]
  })
  assert.deepEqual(planned, [
    ['shop/web/udp/dns', 'udp 53', '10.244.0.1 1053, 10.244.1.2 1053, 10.244.1.2 2053'],
    ['shop/web/tcp/dns-tcp', 'tcp 53', '10.244.0.1 1053'],
    ['shop/web/tcp/metrics', 'tcp 9153', ''],
  ])
})

test('services without a cluster IP need no rules', () => {
  const cases: readonly ServiceSpec[] = [
    { clusterIP: 'None', clusterIPs: ['None'] },
    { type: 'ExternalName', externalName: 'example.com' },
    { clusterIP: '', clusterIPs: [] },
    { ports: [] },
    { ports: [{ name: 'odd', port: 1, protocol: 'DCCP' }] },
  ]
  for (const spec of cases) {
    assert.deepEqual(plan(service(spec), [slice(['10.244.0.1@a'])]), { ports: [], health: undefined })
  }
})

test('cluster, external and load balancer IPs are grouped by family in canonical form', () => {
  const both = service(
    {
      type: 'LoadBalancer',
      clusterIPs: ['10.96.0.5', 'fd00:96::5'],
      externalIPs: ['192.0.2.9', '2001:DB8::9', '192.0.2.9'],
      loadBalancerSourceRanges: [' 203.0.113.0/24', '203.0.113.7/32', '203.0.113.0/24', '2001:db8::/32'],
      ports: [{ name: 'http', port: 80, nodePort: 30080 }],
    },
    ['192.0.2.20', '192.0.2.21 Proxy', '2001:db8::20'],
  )
  const planned = plan(both, [slice(['10.244.0.1@a']), slice(['fd00:244::1@b'])]).ports
  assert.deepEqual(
    planned.map(({ family, clusterIp, externalIps, loadBalancerIps, loadBalancerSourceRanges, nodePort }) => {
      return [family, clusterIp, externalIps, loadBalancerIps, loadBalancerSourceRanges, nodePort]
    }),
    [
      [4, '10.96.0.5', ['192.0.2.9'], ['192.0.2.20'], ['203.0.113.0/24'], 30080],
      [6, 'fd00:96::5', ['2001:db8::9'], ['2001:db8::20'], ['2001:db8::/32'], 30080],
    ],
  )
  assert.deepEqual(planned.map(summary), ['cluster cluster | 1 | ', 'cluster cluster | 1 | '])
  const open = plan(service({ loadBalancerSourceRanges: ['10.0.0.0/8', '0.0.0.0/0'] }, ['192.0.2.20']), [])
  assert.deepEqual(open.ports[0]?.loadBalancerSourceRanges, [])
})

test('session affinity has the timeout of the service', () => {
  const affinityOf = (spec: ServiceSpec): number | undefined =>
    plan(service(spec), []).ports[0]?.affinitySeconds
  const sessionAffinity = 'ClientIP'
  assert.equal(affinityOf({}), undefined)
  assert.equal(affinityOf({ sessionAffinity }), 10_800)
  assert.equal(affinityOf({ sessionAffinity, sessionAffinityConfig: { clientIP: { timeoutSeconds: 7 } } }), 7)
})

test('health check node ports count ready local endpoints, each address once', () => {
  const asked = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31000 }
  const slices = [
    slice(['10.244.0.1@a', '10.244.0.2@a unready', '10.244.1.3@b', '10.244.0.4@a terminating']),
    slice(['10.244.0.1@a'], { ports: [{ name: 'other', port: 1 }] }),
  ]
  assert.deepEqual(plan(service(asked), slices).health, { port: 31000, localEndpoints: 1 })
  assert.deepEqual(plan(service(asked), []).health, { port: 31000, localEndpoints: 0 })
  assert.equal(plan(service({ ...asked, externalTrafficPolicy: 'Cluster' }), slices).health, undefined)
  assert.equal(plan(service({ ...asked, type: 'NodePort' }), slices).health, undefined)
})

test('established flows may keep using every serving endpoint, regardless of the policy', () => {
  const slices = [slice(['10.244.0.1@a', '10.244.1.2@b', '10.244.1.3@b terminating', '10.244.1.4@b ending'])]
  const [port] = plan(service({ internalTrafficPolicy: 'Local' }), slices).ports
  assert.deepEqual(
    port?.endpoints.serving.map(({ address }) => address),
    ['10.244.0.1', '10.244.1.2', '10.244.1.3'],
  )
})
