import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  HTTPIngressPath,
  IngressBackend,
  IngressClassParametersReference,
  IngressSpec,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../generated/networking/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { ingressRules } from './ingress.ts'
import { ipAddressRules } from './service-cidr.ts'
import { networkPolicyRules } from './network-policy.ts'
import { networkingRules } from './group.ts'

const ingresses = underTest(networkingRules['Ingress'])
const policies = underTest(networkingRules['NetworkPolicy'])

const service = { name: 'web', port: { number: 80 } }
const backend = { service }
const rule = (path: Partial<HTTPIngressPath>, host?: string) => ({
  ...(host && { host }),
  http: { paths: [{ path: '/', pathType: 'Prefix', backend, ...path }] },
})
const ingress = (spec: IngressSpec, annotations?: Record<string, string>) => {
  return { metadata: { name: 'i', annotations }, spec }
}
const pathField = 'spec.rules[0].http.paths[0]'

test('an Ingress requires rules or a default backend', () => {
  const { check } = ingresses
  check(ingress({ defaultBackend: backend }))
  check(ingress({ rules: [rule({}, 'a.example')] }))
  check(ingress({ rules: [{ host: 'a.example' }] }))
  check(ingress({}), 'spec: Invalid value: null: either `defaultBackend` or `rules` must be specified')
  check(ingress({ rules: [{ http: { paths: [] } }] }), 'spec.rules[0].http.paths: Required value')
})

test('validation of Ingress paths', () => {
  const { check } = ingresses
  const path = (path: string, pathType = 'Prefix') => ingress({ rules: [rule({ path, pathType })] })
  check(path('/a/b', 'Exact'))
  check(path('', 'ImplementationSpecific'))
  check(
    path('a', 'ImplementationSpecific'),
    `${pathField}.path: Invalid value: "a": must be an absolute path`,
  )
  check(path('', 'Exact'), `${pathField}.path: Invalid value: "": must be an absolute path`)
  check(path('/a//b'), `${pathField}.path: Invalid value: "/a//b": must not contain '//'`)
  check(
    path('/a/./b/..'),
    `${pathField}.path: Invalid value: "/a/./b/..": must not contain '/./'`,
    `${pathField}.path: Invalid value: "/a/./b/..": cannot end with '/..'`,
  )
  check(path('/%2F'), `${pathField}.path: Invalid value: "/%2F": must not contain '%2F'`)
  check(
    path('/', 'Regex'),
    `${pathField}.pathType: Unsupported value: "Regex": supported values: "Exact", ` +
      '"ImplementationSpecific", "Prefix"',
  )
  check(
    ingress({ rules: [{ http: { paths: [{ path: '/', backend } as HTTPIngressPath] } }] }),
    `${pathField}.pathType: Required value: pathType must be specified`,
  )
})

test('validation of Ingress hosts', () => {
  const { check } = ingresses
  const host = (name: string) => ingress({ rules: [{ host: name }] })
  check(host('*.example.com'))
  check(host('A.example'), 'spec.rules[0].host: Invalid value: "A.example": a lowercase RFC 1123 subdomain')
  check(
    host('a.*.example'),
    'spec.rules[0].host: Invalid value: "a.*.example": a wildcard DNS-1123 subdomain must',
  )
  check(
    host('1.2.3.4'),
    'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
  )
  check(
    ingress({ defaultBackend: backend, tls: [{ hosts: ['*.a', '*'], secretName: 'A' }] }),
    'spec.tls[0].hosts[1]: Invalid value: "*": a wildcard',
    'spec.tls[0].secretName: Invalid value: "A"',
  )
})

test('validation of Ingress backends', () => {
  const { check } = ingresses
  const to = (given: IngressBackend) => ingress({ defaultBackend: given })
  const resource = { apiGroup: 'a.example', kind: 'Bucket', name: 'b' }
  const field = 'spec.defaultBackend'
  check(to({ resource }))
  check(to({}), `${field}: Invalid value: "": resource or service backend is required`)
  check(
    to({ resource, service }),
    `${field}: Invalid value: "": cannot set both resource and service backends`,
  )
  check(
    to({ resource: { ...resource, apiGroup: 'A', kind: 'a/b', name: '' } }),
    `${field}.resource.apiGroup: Invalid value: "A"`,
    `${field}.resource.kind: Invalid value: "a/b": may not contain '/'`,
    `${field}.resource.name: Required value`,
  )
  check(to({ service: { name: '1web', port: { name: 'http' } } }))
  check(
    to({ service: { name: '', port: {} } }),
    `${field}.service.name: Required value`,
    `${field}: Required value: port name or number is required`,
  )
  check(
    to({ service: { name: 'A', port: { name: 'http', number: 80 } } }),
    `${field}.service.name: Invalid value: "A"`,
    `${field}: Invalid value: "": cannot set both port name & port number`,
  )
  check(
    to({ service: { name: 'a', port: { name: 'HTTP' } } }),
    `${field}.service.port.name: Invalid value: "HTTP"`,
    `${field}.service.port.name: Invalid value: "HTTP": must contain at least one letter (a-z)`,
  )
  check(
    to({ service: { name: 'a', port: { number: 70_000 } } }),
    `${field}.service.port.number: Invalid value: 70000`,
  )
})

test('an Ingress must not set both the class annotation and ingressClassName', () => {
  const { check, checkUpdate } = ingresses
  const annotation = 'kubernetes.io/ingress.class'
  const spec = { defaultBackend: backend, ingressClassName: 'a' }
  check(ingress(spec, { [annotation]: 'a' }))
  check(
    ingress(spec, { [annotation]: 'b' }),
    `annotations.${annotation}: Invalid value: "b": must match \`ingressClassName\` when both are specified`,
  )
  checkUpdate(ingress(spec, { [annotation]: 'b' }), ingress(spec))
  check(ingress({ ...spec, ingressClassName: 'A' }), 'spec.ingressClassName: Invalid value: "A"')
  const annotated = ingress({ defaultBackend: backend }, { [annotation]: 'a' })
  assert.deepEqual(ingressRules.warnings?.(annotated, undefined), [
    `annotation "${annotation}" is deprecated, please use 'spec.ingressClassName' instead`,
  ])
})

test('Ingress updates tolerate errors that the old object already had', () => {
  const { checkUpdate } = ingresses
  const wrong = ingress({ tls: [{ secretName: 'A' }], rules: [rule({ path: 'a' }, '*.a')] })
  checkUpdate(wrong, wrong)
  checkUpdate(
    wrong,
    ingress({ defaultBackend: backend }),
    'spec.rules[0].http.paths[0].path: Invalid value: "a"',
    'spec.tls[0].secretName: Invalid value: "A"',
  )
})

test('validation of Ingress status', () => {
  const status = (ip: string) => ({ ...ingress({}), status: { loadBalancer: { ingress: [{ ip }] } } })
  ingresses.checkStatus(status('1.2.3.4'), ingress({}))
  ingresses.checkStatus(status('1.2.3.04'), status('1.2.3.04'))
  ingresses.checkStatus(status('x'), ingress({}), 'status.loadBalancer.ingress[0].ip: Invalid value: "x"')
})

test('validation of IngressClass', () => {
  const { check, checkUpdate, withDefaults } = underTest(networkingRules['IngressClass'])
  const parameters = { kind: 'Config', name: 'c' }
  const named = (given: Partial<IngressClassParametersReference>, controller = 'a.example/b') => {
    return { spec: { controller, parameters: { ...parameters, ...given } } }
  }
  assert.deepEqual(withDefaults(named({})), named({ scope: 'Cluster' }))
  check({ spec: { controller: 'a.example/b/c' } })
  check({}, 'spec.controller: Required value')
  check({ spec: { controller: 'a' } }, 'spec.controller: Invalid value: "a": must be a domain-prefixed path')
  check(
    { spec: { controller: `a.example/${'x'.repeat(250)}` } },
    'spec.controller: Too long: may not be more than 250',
  )
  check(
    named({ kind: '', name: 'a/b' }),
    'spec.parameters.kind: Required value',
    'spec.parameters.name: Invalid value',
  )
  check(
    named({ scope: 'Namespace' }),
    "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Names",
  )
  check(named({ scope: 'Namespace', namespace: 'a' }))
  check(
    named({ namespace: 'a' }),
    "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
  )
  check(
    named({ scope: 'Any' }),
    'spec.parameters.scope: Unsupported value: "Any": supported values: "Cluster", "Name',
  )
  checkUpdate(
    named({}, 'a.example/c'),
    named({}),
    'spec.controller: Invalid value: "a.example/c": field is immutable',
  )
})

const policy = (spec: NetworkPolicySpec) => ({ metadata: { name: 'p' }, spec: { podSelector: {}, ...spec } })
const from = (peer: NetworkPolicyPeer) => policy({ ingress: [{ from: [peer] }] })
const ports = (port: NetworkPolicyPort) => policy({ egress: [{ ports: [port] }] })

test('policyTypes of a NetworkPolicy default from its rules', () => {
  const types = (spec: NetworkPolicySpec) => {
    return (policies.withDefaults(policy(spec)) as NetworkPolicy).spec?.policyTypes
  }
  assert.deepEqual(types({}), ['Ingress'])
  assert.deepEqual(types({ egress: [{}] }), ['Ingress', 'Egress'])
  assert.deepEqual(types({ policyTypes: ['Egress'] }), ['Egress'])
  const filled = policies.withDefaults(ports({ port: 53 })) as NetworkPolicy
  assert.deepEqual(filled.spec?.egress, [{ ports: [{ port: 53, protocol: 'TCP' }] }])
})

test('validation of NetworkPolicy ports', () => {
  const { check } = policies
  const field = 'spec.egress[0].ports[0]'
  check(ports({ port: 80, endPort: 90 }))
  check(ports({ port: 'http', protocol: 'UDP' }))
  check(
    ports({ port: 90, endPort: 80 }),
    `${field}.endPort: Invalid value: 90: must be greater than or equal to \`port\``,
  )
  check(ports({ port: 0 }), `${field}.port: Invalid value: 0: must be between 1 and 65535, inclusive`)
  check(ports({ port: 1, endPort: 70_000 }), `${field}.endPort: Invalid value: 70000: must be between`)
  check(
    ports({ port: 'http', endPort: 80 }),
    `${field}.endPort: Invalid value: 80: may not be specified when \`port\` is non`,
  )
  check(
    ports({ endPort: 80 }),
    `${field}.endPort: Invalid value: 80: may not be specified when \`port\` is not spec`,
  )
  check(ports({ port: 'A b' }), `${field}.port: Invalid value: "A b"`)
  check(
    ports({ protocol: 'ICMP' }),
    `${field}.protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"`,
  )
})

test('validation of NetworkPolicy peers', () => {
  const { check, checkUpdate } = policies
  const field = 'spec.ingress[0].from[0]'
  check(from({ podSelector: {}, namespaceSelector: {} }))
  check(from({}), `${field}: Required value: must specify a peer`)
  check(
    from({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }),
    `${field}: Forbidden: may not specify both ipBlock and another peer`,
  )
  check(
    from({ podSelector: { matchLabels: { 'a b': '' } } }),
    `${field}.podSelector.matchLabels: Invalid value: "a b"`,
  )
  check(from({ ipBlock: { cidr: '' } }), `${field}.ipBlock.cidr: Required value`)
  check(from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }))
  check(
    from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8', '11.0.0.0/16', 'x'] } }),
    `${field}.ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of \`cidr\``,
    `${field}.ipBlock.except[1]: Invalid value: "11.0.0.0/16": must be a strict subset of \`cidr\``,
    `${field}.ipBlock.except[2]: Invalid value: "x": must be a valid CIDR value`,
  )
  const loose = from({ ipBlock: { cidr: '10.0.0.1/8' } })
  check(
    loose,
    `${field}.ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length`,
  )
  checkUpdate(loose, loose)
})

test('validation of NetworkPolicy types and pod selector', () => {
  const { check } = policies
  check(
    policy({ policyTypes: ['Any'] }),
    'spec.policyTypes[0]: Unsupported value: "Any": supported values: "Ingress", "Egress"',
  )
  check(
    policy({ policyTypes: ['Ingress', 'Egress', 'Ingress'] }),
    'spec.policyTypes: Invalid value: ["Ingress","Egress","Ingress"]: may not specify more than two policyTy',
  )
  check(
    policy({ podSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }),
    'spec.podSelector.matchExpressions[0].values: Required value',
  )
  assert.equal(networkPolicyRules.tracksGeneration, true)
})

test('validation of IPAddress', () => {
  const { check, checkUpdate } = underTest(networkingRules['IPAddress'])
  const taken = (parentRef?: object) => ({ metadata: { name: '10.0.0.1' }, spec: { parentRef } })
  const parent = { resource: 'services', namespace: 'default', name: 'web' }
  check(taken(parent))
  check(taken(), 'spec.parentRef: Required value')
  check(
    taken({ group: 'A', namespace: 'a/b' }),
    'spec.parentRef.group: Invalid value: "A"',
    'spec.parentRef.resource: Required value',
    'spec.parentRef.name: Required value',
    'spec.parentRef.namespace: Invalid value: "a/b": may not contain \'/\'',
  )
  checkUpdate(
    taken({ ...parent, name: 'b' }),
    taken(parent),
    'spec.parentRef: Invalid value: {"resource":"services"',
  )
  assert.deepEqual(ipAddressRules.names?.name('10.0.0.1'), [])
  assert.deepEqual(ipAddressRules.names?.name('fd00:0::1'), ['must be in canonical form ("fd00::1")'])
})

test('validation of ServiceCIDR', () => {
  const { check, checkUpdate } = underTest(networkingRules['ServiceCIDR'])
  const ranges = (...cidrs: string[]) => ({ spec: { cidrs } })
  check(ranges('10.0.0.0/8', 'fd00::/64'))
  check(ranges(), 'spec.cidrs: Required value: at least one CIDR required')
  check(
    ranges('10.0.0.0/8', '11.0.0.0/8'),
    'spec.cidrs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more',
  )
  check(ranges('10.0.0.1/8'), 'spec.cidrs[0]: Invalid value: "10.0.0.1/8": must not have bits set')
  check(
    ranges('a', 'b', 'c'),
    'spec.cidrs: Invalid value: {"CIDRs":["a","b","c"]}: may only hold up to 2 values',
  )
  checkUpdate(ranges('10.0.0.0/8', 'fd00::/64'), ranges('10.0.0.0/8'))
  checkUpdate(
    ranges('11.0.0.0/8'),
    ranges('10.0.0.0/8'),
    'spec.cidrs[0]: Invalid value: "11.0.0.0/8": field is immutable',
  )
  checkUpdate(ranges(), ranges('10.0.0.0/8'), 'spec.cidrs: Invalid value: []: field is immutable')
})
