import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { conditionOf } from '#/api/conditions.ts'
import type { Resource } from '#/api/resource.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { defaultGatewayClass, gatewayApiDefinitions } from './gateway-api.ts'
import { backendTlsPolicies } from './gateway-api/backend-tls-policy.ts'
import { gatewayClasses } from './gateway-api/gateway-class.ts'
import { gateways } from './gateway-api/gateway.ts'
import { grpcRoutes } from './gateway-api/grpc-route.ts'
import { httpRoutes } from './gateway-api/http-route.ts'
import { referenceGrants } from './gateway-api/reference-grant.ts'

async function start(t: TestContext): Promise<TestControlPlane> {
  const plane = await startTestControlPlane(t, [])
  for (const definition of gatewayApiDefinitions)
    await plane.run(plane.client.create(customResourceDefinitions, definition))
  await plane.settle()
  return plane
}

/** Creates objects with each spec; an expected text is part of the error. */
async function check(
  { run, client }: TestControlPlane,
  resource: Resource,
  cases: readonly (readonly [spec: object, error?: string])[],
): Promise<void> {
  for (const [index, [spec, expected]] of cases.entries()) {
    const metadata = {
      name: `case-${index}`,
      ...(resource.scope === 'Namespaced' && { namespace: 'default' }),
    }
    const object = { metadata, spec } as KubernetesObject
    const error: unknown = await run(client.create(resource, object, { fieldValidation: 'Strict' })).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    const text = JSON.stringify(spec)
    if (expected === undefined) assert.equal(error, undefined, text)
    else {
      assert.ok(isApiError(error, 'Invalid'), `${text}: ${String(error)}`)
      assert.ok(error.message.includes(expected), `${text}: ${error.message}`)
    }
  }
}

test('the definitions are established, structural and approved', async t => {
  const plane = await start(t)
  const stored = await plane.list(customResourceDefinitions)
  assert.equal(stored.length, 6)
  for (const { metadata, status } of stored) {
    for (const type of ['Established', 'KubernetesAPIApprovalPolicyConformant'])
      assert.equal(conditionOf(status?.conditions, type)?.status, 'True', `${metadata.name} ${type}`)
    assert.equal(conditionOf(status?.conditions, 'NonStructuralSchema'), undefined)
    assert.equal(metadata.annotations?.['gateway.networking.k8s.io/channel'], 'standard')
  }
})

test('GatewayClasses: the controller is a domain and a path, and cannot be changed', async t => {
  const plane = await start(t)
  await check(plane, gatewayClasses, [
    [defaultGatewayClass.spec],
    [{ controllerName: 'no-path' }, 'spec.controllerName'],
    [{}, 'Required value'],
    [{ controllerName: 'a.com/b', description: 'x'.repeat(65) }, 'spec.description'],
  ])
  const created = await plane.run(plane.client.get(gatewayClasses, { name: 'case-0' }))
  const [pending] = gatewayClasses.withDefaults(created).status.conditions
  assert.equal(pending?.reason, 'Pending')
  const changed = { ...created, spec: { ...created.spec, controllerName: 'a.com/c' } }
  await assert.rejects(plane.run(plane.client.update(gatewayClasses, changed)), /cannot be changed/)
})

test('Gateways: listeners, addresses and infrastructure are validated', async t => {
  const plane = await start(t)
  const http = { name: 'http', port: 80, protocol: 'HTTP' }
  const tls = { certificateRefs: [{ name: 'x' }] }
  const withListeners = (...listeners: object[]) => ({ gatewayClassName: 'k8ts', listeners })
  const withAddresses = (...addresses: object[]) => ({ ...withListeners(http), addresses })
  await check(plane, gateways, [
    [withListeners(http)],
    [withListeners(), 'spec.listeners'],
    [withListeners({ ...http, port: 0 }), 'spec.listeners[0].port'],
    [withListeners({ ...http, port: 65_536 }), 'spec.listeners[0].port'],
    [withListeners({ ...http, name: 'A' }), 'spec.listeners[0].name'],
    [withListeners({ ...http, hostname: 'a.*.com' }), 'spec.listeners[0].hostname'],
    [withListeners({ ...http, tls }), 'cannot have tls'],
    [withListeners({ ...http, protocol: 'HTTPS', tls })],
    [withListeners({ ...http, protocol: 'HTTPS', tls: {} }), 'needs certificateRefs or options'],
    [withListeners({ ...http, protocol: 'HTTPS', tls: { mode: 'Passthrough' } }), 'must be Terminate'],
    [withListeners({ ...http, protocol: 'TLS' }), 'must have a tls mode'],
    [withListeners({ ...http, protocol: 'TCP', hostname: 'a.com' }), 'cannot have a hostname'],
    [withListeners(http, { ...http, name: 'two' }), 'port, protocol and hostname together'],
    [withListeners(http, { ...http, name: 'two', hostname: 'a.com' })],
    [withListeners(http, { ...http, port: 81 }), 'Duplicate value'],
    [withListeners({ ...http, allowedRoutes: { namespaces: { from: 'Some' } } }), 'Unsupported value'],
    [withAddresses({ value: '203.0.113.1' }, { type: 'Hostname', value: 'a.com' }, {})],
    [withAddresses({ value: 'x' }), 'spec.addresses[0]'],
    [
      withAddresses({ value: '203.0.113.1' }, { value: '203.0.113.1' }),
      'values of type IPAddress must be unique',
    ],
    [withAddresses({ type: 'Hostname', value: '?' }), 'must be empty or a DNS name'],
    [{ ...withListeners(http), infrastructure: { labels: { 'a b': 'c' } } }, 'keys of labels'],
    [{ ...withListeners(http), infrastructure: { labels: { 'a.com/b': 'c' }, annotations: { d: 'e' } } }],
  ])
  const { spec } = gateways.withDefaults(
    await plane.run(plane.client.get(gateways, { namespace: 'default', name: 'case-0' })),
  )
  assert.deepEqual(spec.listeners[0]?.allowedRoutes, { namespaces: { from: 'Same' } })
})

test('HTTPRoutes: paths, filters, backends and timeouts are validated', async t => {
  const plane = await start(t)
  const withRule = (rule: object) => ({ rules: [rule] })
  const withPath = (value: string, type = 'PathPrefix') => withRule({ matches: [{ path: { type, value } }] })
  const withFilters = (...filters: object[]) => withRule({ filters })
  const service = { name: 'web', port: 80 }
  const path = { type: 'ReplacePrefixMatch', replacePrefixMatch: '/x' }
  const redirect = { type: 'RequestRedirect', requestRedirect: {} }
  const rewrite = { type: 'URLRewrite', urlRewrite: { path } }
  const mirror = (share: object) => ({
    type: 'RequestMirror',
    requestMirror: { backendRef: service, ...share },
  })
  const matches = Array.from({ length: 64 }, () => ({}))
  await check(plane, httpRoutes, [
    [{}],
    [withPath('/a/%41;b=c')],
    ...['a', '//', '/a/./b', '/../a', '/%2F', '/a#b', '/a/..', '/a/.', '/?'].map(value => {
      return [withPath(value), 'paths of type Exact and PathPrefix'] as const
    }),
    [withPath('[a-z]+', 'RegularExpression')],
    [withRule({ matches: [{ method: 'get' }] }), 'Unsupported value'],
    [withRule({ matches: [{ headers: [{ name: 'a b', value: 'c' }] }] }), 'headers[0].name'],
    [withFilters(redirect)],
    [withFilters(redirect, rewrite), 'cannot be used together'],
    [withFilters(rewrite)],
    [withFilters(rewrite, rewrite), 'one filter of type URLRewrite'],
    [withFilters(mirror({}), mirror({ percent: 10 }))],
    [withFilters(mirror({ percent: 101 })), 'percent'],
    [withFilters(mirror({ percent: 10, fraction: { numerator: 1 } })), 'a percent or a fraction'],
    [withFilters(mirror({ fraction: { numerator: 2, denominator: 1 } })), 'cannot be greater'],
    [withFilters({ type: 'RequestRedirect' }), 'requestRedirect must be set'],
    [withFilters({ ...redirect, type: 'URLRewrite' }), 'must be set'],
    [withFilters({ type: 'RequestRedirect', requestRedirect: { statusCode: 300 } }), 'Unsupported value'],
    [withRule({ filters: [redirect], backendRefs: [service] }), 'cannot have backendRefs'],
    [
      withRule({ filters: [rewrite], matches: [{ path: { type: 'Exact', value: '/' } }] }),
      'exactly one match',
    ],
    [withRule({ filters: [rewrite], matches: [{}, {}] }), 'exactly one match'],
    [withRule({ backendRefs: [{ name: 'web' }] }), 'must have a port'],
    [withRule({ backendRefs: [{ ...service, weight: 1_000_001 }] }), 'weight'],
    [withRule({ timeouts: { request: '1s', backendRequest: '500ms' } })],
    [withRule({ timeouts: { request: '1s', backendRequest: '2s' } }), 'cannot be longer'],
    [withRule({ timeouts: { request: '0s', backendRequest: '2s' } })],
    [withRule({ timeouts: { request: '1.5s' } }), 'timeouts.request'],
    [{ rules: [{ matches }, { matches }] }],
    [{ rules: [{ matches }, { matches }, {}] }, 'up to 128 matches'],
    [{ hostnames: ['1.2.3.4:80'] }, 'spec.hostnames[0]'],
    [
      {
        parentRefs: [
          { name: 'a', sectionName: 'x' },
          { name: 'a', sectionName: 'y' },
        ],
      },
    ],
    [{ parentRefs: [{ name: 'a', sectionName: 'x' }, { name: 'a' }] }, 'must all have a sectionName'],
    [{ parentRefs: [{ name: 'a' }, { name: 'a' }] }, 'must have different sectionNames'],
    [{ parentRefs: [{ name: 'a' }, { name: 'a', namespace: 'b' }] }],
  ])
  const key = { namespace: 'default', name: 'case-0' }
  const { spec } = httpRoutes.withDefaults(await plane.run(plane.client.get(httpRoutes, key)))
  assert.deepEqual(spec.rules, [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }] }])
})

test('GRPCRoutes: methods are validated', async t => {
  const plane = await start(t)
  const withMethod = (method: object) => ({ rules: [{ matches: [{ method }] }] })
  await check(plane, grpcRoutes, [
    [{}],
    [withMethod({ service: 'foo.v1.Bar', method: 'Get' })],
    [withMethod({}), 'needs a service or a method'],
    [withMethod({ service: 'foo/Bar' }), 'full name of a gRPC service'],
    [withMethod({ method: 'foo.Bar' }), 'name of a gRPC method'],
    [withMethod({ type: 'RegularExpression', service: 'foo/.*' })],
  ])
})

test('BackendTLSPolicies: targets and authorities are validated', async t => {
  const plane = await start(t)
  const target = { group: '', kind: 'Service', name: 'web' }
  const system = { hostname: 'web.internal', wellKnownCACertificates: 'System' }
  const caCertificateRefs = [{ group: '', kind: 'ConfigMap', name: 'ca' }]
  const withNames = (...subjectAltNames: object[]) => ({
    targetRefs: [target],
    validation: { ...system, subjectAltNames },
  })
  await check(plane, backendTlsPolicies, [
    [{ targetRefs: [target], validation: system }],
    [{ targetRefs: [target], validation: { hostname: 'a.com', caCertificateRefs } }],
    [{ targetRefs: [], validation: system }, 'spec.targetRefs'],
    [{ targetRefs: [target, target], validation: system }, 'must have different sectionNames'],
    [{ targetRefs: [target, { ...target, sectionName: 'x' }], validation: system }, 'must all have'],
    [{ targetRefs: [target], validation: { ...system, caCertificateRefs } }, 'must be set'],
    [{ targetRefs: [target], validation: { hostname: 'a.com' } }, 'must be set'],
    [{ targetRefs: [target], validation: { ...system, hostname: '*.com' } }, 'spec.validation.hostname'],
    [withNames({ type: 'Hostname', hostname: '*.a.com' }, { type: 'URI', uri: 'spiffe://a/b' })],
    [withNames({ type: 'Hostname', uri: 'spiffe://a/b' }), 'hostname must be set'],
  ])
})

test('ReferenceGrants have both versions', async t => {
  const plane = await start(t)
  const from = [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'a' }]
  const to = [{ group: '', kind: 'Service' }]
  const cases = [[{ from, to }], [{ from, to: [] }, 'spec.to'], [{ from: [], to }, 'spec.from']] as const
  await check(plane, referenceGrants, cases)
  const { v1 } = referenceGrants.versions
  const read = await plane.run(plane.client.get(v1, { namespace: 'default', name: 'case-0' }))
  assert.equal(read.apiVersion, 'gateway.networking.k8s.io/v1')
})
