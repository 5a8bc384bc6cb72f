import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Service, ServiceSpec } from '../../generated/core/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { coreRules } from './group.ts'
import { serviceRules } from './service.ts'

const { check, checkUpdate, checkStatus, withDefaults } = underTest(coreRules['Service'])

function service(spec: ServiceSpec, annotations?: Record<string, string>): Service {
  return { metadata: { name: 'web', annotations }, spec: { ports: [{ port: 80 }], ...spec } }
}

const defaults = { sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' }
const filledPort = { port: 80, protocol: 'TCP', targetPort: 80 }

test('defaults of a service follow from its type', () => {
  const filled = (spec: ServiceSpec) => withDefaults(service(spec)) as Service
  const ports = [filledPort]
  assert.deepEqual(filled({}).spec, { ...defaults, type: 'ClusterIP', ports })
  assert.deepEqual(filled({ type: 'NodePort' }).spec, {
    ...defaults,
    type: 'NodePort',
    ports,
    externalTrafficPolicy: 'Cluster',
  })
  assert.deepEqual(filled({ type: 'LoadBalancer' }).spec, {
    ...defaults,
    type: 'LoadBalancer',
    ports,
    externalTrafficPolicy: 'Cluster',
    allocateLoadBalancerNodePorts: true,
  })
  const named = { type: 'ExternalName', externalName: 'a.b' }
  assert.deepEqual(filled({ ...named, internalTrafficPolicy: 'Cluster' }).spec, {
    ...named,
    sessionAffinity: 'None',
    ports,
  })
  assert.equal(filled({ externalIPs: ['1.2.3.4'] }).spec?.externalTrafficPolicy, 'Cluster')
  assert.deepEqual(filled({ sessionAffinity: 'ClientIP' }).spec?.sessionAffinityConfig, {
    clientIP: { timeoutSeconds: 10_800 },
  })
  assert.equal(filled({ sessionAffinityConfig: {} }).spec?.sessionAffinityConfig, undefined)
  assert.deepEqual(filled({ ports: [{ port: 53, protocol: 'UDP', targetPort: 'dns' }] }).spec?.ports, [
    { port: 53, protocol: 'UDP', targetPort: 'dns' },
  ])
})

test('load balancer ingress IPs default to ipMode VIP', () => {
  const status = { loadBalancer: { ingress: [{ ip: '1.2.3.4' }, { hostname: 'a.b' }] } }
  const filled = withDefaults({ ...service({ type: 'LoadBalancer' }), status }) as Service
  assert.deepEqual(filled.status?.loadBalancer?.ingress, [
    { ip: '1.2.3.4', ipMode: 'VIP' },
    { hostname: 'a.b' },
  ])
})

test('validation of Service ports', () => {
  check(service({}))
  check(service({ ports: [] }), 'spec.ports: Required value')
  check(
    service({ ports: [{ port: 0 }] }),
    'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
    'spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive',
  )
  check(
    service({ ports: [{ port: 80, targetPort: 'Http' }] }),
    'spec.ports[0].targetPort: Invalid value: "Http": must contain only alpha-numeric characters',
  )
  check(
    service({ ports: [{ port: 80, protocol: 'ICMP' }] }),
    'spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
  )
  check(
    service({ ports: [{ port: 80, appProtocol: 'a b' }] }),
    'spec.ports[0].appProtocol: Invalid value: "a b"',
  )
  check(service({ ports: [{ port: 80, name: 'A' }] }), 'spec.ports[0].name: Invalid value: "A"')
  check(service({ ports: [{ port: 80 }, { port: 81, name: 'b' }] }), 'spec.ports[0].name: Required value')
  check(
    service({
      ports: [
        { port: 80, name: 'a' },
        { port: 81, name: 'a' },
      ],
    }),
    'spec.ports[1].name: Duplicate value: "a"',
  )
  check(
    service({
      ports: [
        { port: 80, name: 'a' },
        { port: 80, name: 'b' },
      ],
    }),
    'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,' +
      '"NodePort":0}',
  )
  check(
    service({
      ports: [
        { port: 80, name: 'a' },
        { port: 80, name: 'b', protocol: 'UDP' },
      ],
    }),
  )
})

test('node ports are allowed only for NodePort and LoadBalancer', () => {
  const ports = [
    { port: 80, name: 'a', nodePort: 30_000 },
    { port: 81, name: 'b', nodePort: 30_000 },
  ]
  check(service({ type: 'NodePort', ports: ports.slice(0, 1) }))
  check(
    service({ ports: ports.slice(0, 1) }),
    "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
  )
  check(service({ type: 'NodePort', ports }), 'spec.ports[1].nodePort: Duplicate value: 30000')
})

test('validation of Service types', () => {
  const unknown =
    'spec.type: Unsupported value: "Any": supported values: "ClusterIP", "ExternalName", ' +
    '"LoadBalancer", "NodePort"'
  check(service({ type: 'Any' }), unknown)
  check(service({ type: 'ExternalName', ports: [] }), 'spec.externalName: Required value')
  check(service({ type: 'ExternalName', externalName: 'a.example.' }))
  check(service({ type: 'ExternalName', externalName: 'A' }), 'spec.externalName: Invalid value: "A"')
  check(
    service({ type: 'ExternalName', externalName: 'a', clusterIP: '10.0.0.1' }),
    'spec.clusterIPs: Forbidden: may not be set for ExternalName services',
  )
  const named: ServiceSpec = { type: 'ExternalName', externalName: 'a' }
  check(
    service({ ...named, ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }),
    'spec.ipFamilies: Forbidden: may not be set for ExternalName services',
    'spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services',
  )
  check(service({ clusterIP: 'None', ports: [] }))
  check(
    service({ clusterIP: 'None', type: 'NodePort' }),
    'spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services',
  )
  check(
    service({ clusterIP: 'None', type: 'LoadBalancer' }),
    'spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for LoadBalancer services',
  )
})

test('validation of Service session affinity', () => {
  check(service({ sessionAffinity: 'Any' }), 'spec.sessionAffinity: Unsupported value: "Any"')
  const affinity = (timeoutSeconds: number) => {
    return service({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds } } })
  }
  check(affinity(86_400))
  check(
    affinity(0),
    'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0',
  )
  check(affinity(86_401), 'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401')
})

test('validation of cluster IPs and IP families', () => {
  const dual = { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] }
  check(service({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'], ...dual }))
  check(
    service({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.2'] }),
    'spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`',
  )
  check(
    service({ clusterIPs: ['10.0.0.2'] }),
    'spec.clusterIPs: Invalid value: ["10.0.0.2"]: must be empty when `clusterIP` is not specified',
  )
  check(
    service({ clusterIP: '010.0.0.1' }),
    'spec.clusterIPs[0]: Invalid value: "010.0.0.1": must not have leading 0s',
  )
  check(
    service({ clusterIP: '::ffff:1.2.3.4' }),
    'spec.clusterIPs[0]: Invalid value: "::ffff:1.2.3.4": must not be',
  )
  check(service({ clusterIP: 'x' }), 'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address')
  check(
    service({ clusterIP: 'None', clusterIPs: ['None', '10.0.0.1'] }),
    'spec.clusterIPs: Invalid value: ["None","10.0.0.1"]: \'None\' must be the first and only value',
  )
  check(
    service({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', '10.0.0.2'] }),
    'spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP fa',
  )
  check(
    service({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1', '10.0.0.2'] }),
    'spec.clusterIPs: Invalid value: ["10.0.0.1","fd00::1","10.0.0.2"]: may only hold up to 2 values',
    'spec.clusterIPs: Invalid value: ["10.0.0.1","fd00::1","10.0.0.2"]: may specify no more than one IP',
  )
  check(
    service({ clusterIP: 'fd00::1', ipFamilies: ['IPv4'] }),
    'spec.clusterIPs[0]: Invalid value: "fd00::1": expected an IPv4 value as indicated by `ipFamilies[0]`',
  )
  check(
    service({ ipFamilies: ['IPv5'] }),
    'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
  )
  check(service({ ipFamilies: ['IPv4', 'IPv4'] }), 'spec.ipFamilies[1]: Duplicate value: "IPv4"')
  check(
    service({ ipFamilyPolicy: 'Dual' }),
    'spec.ipFamilyPolicy: Unsupported value: "Dual": supported values: "PreferDualStack", "RequireDualStack"',
  )
})

test('validation of external traffic policy and external IPs', () => {
  check(
    service({ externalIPs: ['127.0.0.1'] }),
    'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128',
  )
  check(
    service({ externalIPs: ['1.2.3'] }),
    'spec.externalIPs[0]: Invalid value: "1.2.3": must be a valid IP address',
  )
  check(
    service({ externalTrafficPolicy: 'Local' }),
    'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
  )
  check(
    service({ type: 'NodePort', externalTrafficPolicy: 'Any' }),
    'spec.externalTrafficPolicy: Unsupported value: "Any": supported values: "Cluster", "Local"',
  )
  check(
    service({ type: 'NodePort', healthCheckNodePort: 30_000 }),
    "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and",
  )
  const local: ServiceSpec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }
  check(service(local))
  check(
    service({ ...local, healthCheckNodePort: 70_000 }),
    'spec.healthCheckNodePort: Invalid value: 70000: must be',
  )
  check(service({ internalTrafficPolicy: 'Any' }), 'spec.internalTrafficPolicy: Unsupported value: "Any"')
  check(service({ trafficDistribution: 'PreferSameNode' }))
  check(
    service({ trafficDistribution: 'Any' }),
    'spec.trafficDistribution: Unsupported value: "Any": supported values: "PreferClose", "PreferSameZone", ',
  )
})

test('validation of fields of LoadBalancer services', () => {
  const only = "may only be used when `type` is 'LoadBalancer'"
  check(service({ type: 'LoadBalancer', loadBalancerSourceRanges: [' 10.0.0.0/8 '] }))
  check(service({ type: 'LoadBalancer', loadBalancerClass: 'a.b/c' }))
  check(
    service({ loadBalancerSourceRanges: ['10.0.0.0/8'] }),
    `spec.LoadBalancerSourceRanges: Forbidden: ${only}`,
  )
  check(
    service({ type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.1/8'] }),
    'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix',
  )
  check(service({ loadBalancerClass: 'a' }), `spec.loadBalancerClass: Forbidden: ${only}`)
  check(
    service({ type: 'LoadBalancer', loadBalancerClass: 'a b' }),
    'spec.loadBalancerClass: Invalid value: "a b"',
  )
  check(
    service({ allocateLoadBalancerNodePorts: true }),
    `spec.allocateLoadBalancerNodePorts: Forbidden: ${only}`,
  )
  const annotation = 'service.beta.kubernetes.io/load-balancer-source-ranges'
  check(
    service({ type: 'LoadBalancer' }, { [annotation]: '10.0.0.0/8, x' }),
    `metadata.annotations[${annotation}]: Invalid value: "x": must be a valid CIDR value`,
  )
  check(service({}, { [annotation]: '' }), `metadata.annotations[${annotation}]: Forbidden: ${only}`)
})

test('topology annotations of a Service must agree', () => {
  const [hints, mode] = ['service.kubernetes.io/topology-aware-hints', 'service.kubernetes.io/topology-mode']
  check(service({}, { [hints]: 'Auto', [mode]: 'Auto' }))
  check(
    service({}, { [hints]: 'Auto', [mode]: 'Disabled' }),
    `metadata.annotations[${mode}]: Invalid value: "Disabled": must match annotations[${hints}] when both are`,
  )
})

test('validation of the Service selector', () => {
  check(
    service({ selector: { 'a b': 'c d' } }),
    'spec.selector: Invalid value: "a b": name part must consist of',
    'spec.selector: Invalid value: "c d"',
  )
})

const stored = service({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] })

test('cluster IPs are immutable', () => {
  checkUpdate(service({}), stored)
  checkUpdate(
    service({ clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'] }),
    stored,
    'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
  )
  checkUpdate(
    service({ clusterIP: '10.0.0.2' }),
    stored,
    'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
  )
  checkUpdate(
    service({ clusterIP: 'None' }),
    stored,
    'spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set',
  )
  checkUpdate(
    service({ ipFamilies: ['IPv6'] }),
    stored,
    'spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set',
    'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value',
  )
  const both = {
    clusterIPs: ['10.0.0.1', 'fd00::1'],
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'PreferDualStack',
  }
  checkUpdate(service({ clusterIP: '10.0.0.1', ...both }), stored)
  const one = { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] }
  checkUpdate(
    service(one),
    service({ clusterIP: '10.0.0.1', ...both }),
    'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to \'SingleStack\' when releasing th',
    'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to \'SingleStack\' when releasing th',
  )
  checkUpdate(service({ ipFamilyPolicy: 'SingleStack' }), service({ clusterIP: '10.0.0.1', ...both }))
})

test('unchanged Service addresses are not revalidated', () => {
  const old = service({ clusterIP: '010.0.0.1', clusterIPs: ['010.0.0.1'], externalIPs: ['1.2.3.04'] })
  checkUpdate(service({ externalIPs: ['1.2.3.04'] }), old)
  checkUpdate(service({ externalIPs: ['1.2.3.05'] }), old, 'spec.externalIPs[0]: Invalid value: "1.2.3.05"')
})

test('loadBalancerClass and healthCheckNodePort are immutable', () => {
  const old = service({ type: 'LoadBalancer', loadBalancerClass: 'a.b/c' })
  checkUpdate(
    service({ type: 'LoadBalancer', loadBalancerClass: 'a.b/d' }),
    old,
    'spec.loadBalancerClass: Invalid value: "a.b/d": may not change once set',
  )
  checkUpdate(
    service({ type: 'LoadBalancer' }),
    old,
    'spec.loadBalancerClass: Invalid value: null: may not change once set',
  )
  const local: ServiceSpec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }
  checkUpdate(
    service({ ...local, healthCheckNodePort: 2 }),
    service({ ...local, healthCheckNodePort: 1 }),
    'spec.healthCheckNodePort: Forbidden: field is immutable',
  )
})

test('validation of Service status', () => {
  const balanced = (ingress: object[], type = 'LoadBalancer') => {
    return { ...service({ type }), status: { loadBalancer: { ingress } } }
  }
  const old = balanced([])
  checkStatus(balanced([{ ip: '1.2.3.4', ipMode: 'Proxy' }, { hostname: 'a.b' }]), old)
  checkStatus(
    balanced([{ ip: 'x', ipMode: 'Any' }]),
    old,
    'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address',
    'status.loadBalancer.ingress[0].ipMode: Unsupported value: "Any": supported values: "Proxy", "VIP"',
  )
  checkStatus(
    balanced([{ ipMode: 'VIP', hostname: '1.2.3.4' }]),
    old,
    'status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set',
    'status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP addres',
  )
  checkStatus(
    balanced([{ ip: '1.2.3.4' }], 'NodePort'),
    old,
    "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
  )
})

function updated(spec: ServiceSpec, old: Service): ServiceSpec | undefined {
  const [given, stored] = [withDefaults(service(spec)) as Service, withDefaults(old) as Service]
  const prepared = (serviceRules.prepareForUpdate?.(given, stored) ?? {}) as Service
  return prepared.spec
}

test('a Service update keeps allocated values that the client omits', () => {
  const named = (nodePort?: number) => ({ port: 80, name: 'http', ...(nodePort && { nodePort }) })
  const old = service({
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 31_000,
    ports: [named(30_000)],
    clusterIP: '10.0.0.1',
    clusterIPs: ['10.0.0.1'],
    ipFamilyPolicy: 'SingleStack',
  })
  const after = updated({ type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [named()] }, old)
  assert.deepEqual(after, (withDefaults(old) as Service).spec)
  const taken = { port: 81, name: 'b', nodePort: 30_000 }
  const moved = updated({ type: 'NodePort', ports: [named(), taken] }, old)
  assert.deepEqual(
    moved?.ports?.map(port => port.nodePort),
    [undefined, 30_000],
  )
})

test('a change of the Service type clears fields of the old type', () => {
  const balanced: ServiceSpec = {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 31_000,
    loadBalancerClass: 'a.b/c',
    ports: [{ ...filledPort, nodePort: 30_000 }],
    clusterIP: '10.0.0.1',
    clusterIPs: ['10.0.0.1'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    allocateLoadBalancerNodePorts: true,
  }
  const old = service(balanced)
  assert.deepEqual(updated({ ...balanced, type: 'ClusterIP' }, old), {
    ...defaults,
    type: 'ClusterIP',
    ports: [filledPort],
    clusterIP: '10.0.0.1',
    clusterIPs: ['10.0.0.1'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
  })
  assert.deepEqual(updated({ ...balanced, type: 'ExternalName', externalName: 'a' }, old), {
    type: 'ExternalName',
    externalName: 'a',
    sessionAffinity: 'None',
    ports: [filledPort],
  })
  const ports = [{ ...filledPort, nodePort: 30_001 }]
  const changed = updated({ ...balanced, type: 'ClusterIP', ports }, old)
  assert.equal(changed?.ports?.[0]?.nodePort, 30_001)
})

test('a Service of another type has no load balancer status', () => {
  const status = { loadBalancer: { ingress: [{ ip: '1.2.3.4', ipMode: 'VIP' }] } }
  const old: Service = { ...service({ type: 'LoadBalancer' }), status }
  const given: Service = { ...service({ type: 'ClusterIP' }), status }
  const after = (serviceRules.prepareForUpdate?.(given, old) ?? {}) as Service
  assert.deepEqual(after.status, { loadBalancer: {} })
})

test('warnings for Service', () => {
  const warn = (spec: ServiceSpec) =>
    serviceRules.warnings?.(withDefaults(service(spec)) as Service, undefined)
  assert.deepEqual(warn({}), [])
  assert.deepEqual(warn({ externalIPs: ['1.2.3.4'], externalName: 'a' }), [
    'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    'spec.externalName is ignored when spec.type is not "ExternalName"',
  ])
  assert.deepEqual(warn({ trafficDistribution: 'PreferClose' }), [
    'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
  ])
})

test('Services are selected by type and cluster IP, and names are DNS labels', () => {
  assert.equal(serviceRules.selectableFields?.['spec.type']?.(stored), '')
  assert.equal(serviceRules.selectableFields?.['spec.clusterIP']?.(stored), '10.0.0.1')
  assert.deepEqual(serviceRules.names?.name('1-web'), [])
})
