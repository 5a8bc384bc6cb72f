import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { apiError } from '#/api/errors.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { configMaps, events, namespaces, secrets, services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { refuseCreation } from '#/controllers/test-admission.ts'
import {
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
} from '#/controllers/test-control-plane.ts'
import type { ConfigurationSource } from '#/http-proxy/proxy-configuration.ts'
import { defaultGatewayClass, gatewayApiDefinitions } from './gateway-api.ts'
import { backendTlsPolicies } from './gateway-api/backend-tls-policy.ts'
import { gatewayClasses } from './gateway-api/gateway-class.ts'
import { gateways, type Gateway } from './gateway-api/gateway.ts'
import { grpcRoutes } from './gateway-api/grpc-route.ts'
import { httpRoutes, type HTTPRoute } from './gateway-api/http-route.ts'
import { referenceGrants } from './gateway-api/reference-grant.ts'
import { ensureGatewayRbac } from './ensure-gateway.ts'
import { gatewayController } from './gateway-controller.ts'
import { servedGatewayClasses } from './served-gateway-classes.ts'
import { configurationLines } from './test-gateways.ts'
import { testKeyPair } from './test-key-pair.ts'

interface TestGateways extends TestControlPlane {
  readonly source: ConfigurationSource
  /** Number of changes of the configuration. */
  readonly changes: () => number
  readonly restart: () => Promise<void>
}

const namespace = 'default'
const account = { namespace: 'kube-system', name: 'k8ts-gateway' }
const username = `system:serviceaccount:${account.namespace}:${account.name}`

/** The controller has only the rights that it says it needs. */
async function start(
  t: TestContext,
  {
    withDefinitions = true,
    ...options
  }: TestControlPlaneOptions & { readonly withDefinitions?: boolean } = {},
): Promise<TestGateways> {
  const plane = await startTestControlPlane(t, [], options)
  const { client, run, settle, platform } = plane
  await run(ensureGatewayRbac(client, account))
  if (withDefinitions) await define(plane)
  let stopping: AbortController
  let running: Promise<void>
  let source: ConfigurationSource
  let changes = 0
  const begin = (): void => {
    stopping = new AbortController()
    source = gatewayController({ platform, client: plane.clientAs(username, []), nodeAddress: '192.0.2.1' })
    source.onChange(() => changes++)
    running = source.run(stopping.signal)
  }
  const end = async (): Promise<void> => {
    stopping.abort()
    await run(running)
  }
  t.after(end)
  begin()
  await settle()
  const restart = async (): Promise<void> => {
    await end()
    begin()
    await settle()
  }
  return {
    ...plane,
    get source() {
      return source
    },
    changes: () => changes,
    restart,
  }
}

async function define(plane: TestControlPlane): Promise<void> {
  for (const definition of gatewayApiDefinitions) await plane.create(customResourceDefinitions, definition)
  await plane.create(gatewayClasses, defaultGatewayClass)
}

const http = { name: 'http', port: 80, protocol: 'HTTP' }
type Listeners = Parameters<typeof gateways.withDefaults>[0]['spec']['listeners']

async function createGateway(
  plane: TestControlPlane,
  name = 'gw',
  listeners: Listeners = [http],
): Promise<void> {
  const spec = { gatewayClassName: 'k8ts', listeners }
  await plane.create(gateways, { metadata: { namespace, name }, spec })
}

async function createRoute(plane: TestControlPlane, name = 'web', parent = 'gw'): Promise<void> {
  const spec = {
    parentRefs: [{ name: parent }],
    rules: [{ backendRefs: [{ name: 'web', port: 80 }] }],
  }
  await plane.create(httpRoutes, { metadata: { namespace, name }, spec })
}

async function createBackend(plane: TestControlPlane): Promise<void> {
  await plane.create(services, { metadata: { namespace, name: 'web' }, spec: { ports: [{ port: 80 }] } })
  await plane.create(endpointSlices, {
    metadata: { namespace, name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080 }],
    endpoints: [{ addresses: ['10.0.0.1'] }],
  })
}

async function getGateway(plane: TestControlPlane, name = 'gw'): Promise<Stored<Gateway>> {
  return gateways.withDefaults(await plane.run(plane.client.get(gateways, { namespace, name })))
}

async function getRoute(plane: TestControlPlane, name = 'web'): Promise<Stored<HTTPRoute>> {
  return httpRoutes.withDefaults(await plane.run(plane.client.get(httpRoutes, { namespace, name })))
}

function texts(conditions: Gateway['status']['conditions'] | undefined): string {
  return (conditions ?? []).map(({ type, status, reason }) => `${type}=${status}:${reason}`).join(' ')
}

async function assignAddress(plane: TestControlPlane, key: string, ip: string): Promise<void> {
  const status = { loadBalancer: { ingress: [{ ip }] } }
  await plane.changeStatus(services, key, service => ({ ...service, status }))
}

function lines({ source }: TestGateways): readonly string[] | undefined {
  return source.configuration && configurationLines(source.configuration)
}

test('the class is accepted and lists its features', async t => {
  const plane = await start(t)
  const { status } = gatewayClasses.withDefaults(
    await plane.run(plane.client.get(gatewayClasses, { name: 'k8ts' })),
  )
  assert.equal(texts(status.conditions), 'Accepted=True:Accepted')
  const features = (status.supportedFeatures ?? []).map(({ name }) => name)
  assert.ok(features.includes('HTTPRoute'))
  assert.deepEqual(features, features.toSorted())
  assert.deepEqual(lines(plane), [])
})

test('a Gateway gets a Service, its address, and routes', async t => {
  const plane = await start(t)
  await createBackend(plane)
  await createGateway(plane)
  await createRoute(plane)
  assert.deepEqual(lines(plane), ['gw:80', ' *', '  / -> web:80'])
  assert.equal(
    texts((await getGateway(plane)).status.conditions),
    'Accepted=True:Accepted Programmed=False:AddressNotAssigned',
  )
  await assignAddress(plane, 'default/gw-k8ts', '203.0.113.1')
  const { status, metadata } = await getGateway(plane)
  assert.equal(texts(status.conditions), 'Accepted=True:Accepted Programmed=True:Programmed')
  assert.deepEqual(status.addresses, [{ type: 'IPAddress', value: '203.0.113.1' }])
  assert.deepEqual(
    status.listeners?.map(({ name, attachedRoutes }) => `${name} ${attachedRoutes}`),
    ['http 1'],
  )
  for (const { observedGeneration } of status.conditions)
    assert.equal(observedGeneration, metadata.generation)
  const [parent] = (await getRoute(plane)).status?.parents ?? []
  assert.equal(parent?.controllerName, 'k8ts.io/gateway-controller')
  assert.equal(texts(parent?.conditions), 'Accepted=True:Accepted ResolvedRefs=True:ResolvedRefs')
  const service = (await plane.list(services)).find(each => each.metadata.name === 'gw-k8ts')
  assert.equal(service?.metadata.ownerReferences?.[0]?.uid, metadata.uid)
  const slice = await plane.run(plane.client.get(endpointSlices, { namespace, name: 'gw-k8ts' }))
  assert.deepEqual(slice.endpoints?.[0]?.addresses, ['192.0.2.1'])
  assert.equal(slice.ports?.[0]?.port, plane.source.configuration?.listeners[0]?.port)
  assert.equal(slice.metadata.ownerReferences?.[0]?.uid, service?.metadata.uid)
})

test('changes of routes, endpoints and listeners change the configuration', async t => {
  const plane = await start(t)
  await createGateway(plane)
  await createRoute(plane)
  assert.deepEqual(lines(plane), ['gw:80', ' *', '  / -> 500'])
  assert.match(
    texts((await getRoute(plane)).status?.parents[0]?.conditions),
    /ResolvedRefs=False:BackendNotFound/,
  )
  await createBackend(plane)
  assert.deepEqual(lines(plane), ['gw:80', ' *', '  / -> web:80'])
  assert.match(texts((await getRoute(plane)).status?.parents[0]?.conditions), /ResolvedRefs=True/)
  const endpoints = (): readonly string[] => {
    return [...(plane.source.configuration?.backends.values() ?? [])].flatMap(each => {
      return each.endpoints.map(({ address, port }) => `${address}:${port}`)
    })
  }
  assert.deepEqual(endpoints(), ['10.0.0.1:8080'])
  await plane.change(endpointSlices, 'default/web-1', slice => ({
    ...slice,
    endpoints: [{ addresses: ['10.0.0.2'] }, { addresses: ['10.0.0.3'] }],
  }))
  assert.deepEqual(endpoints(), ['10.0.0.2:8080', '10.0.0.3:8080'])
  await plane.change(gateways, 'default/gw', ({ spec, ...rest }) => ({
    ...rest,
    spec: {
      ...spec,
      listeners: [
        { ...http, hostname: 'a.com' },
        { ...http, name: 'two', port: 81 },
      ],
    },
  }))
  assert.deepEqual(lines(plane), ['gw:80', ' a.com', '  / -> web:80', 'gw:81', ' *', '  / -> web:80'])
  await plane.run(plane.client.delete(httpRoutes, { namespace, name: 'web' }))
  await plane.settle()
  assert.deepEqual(lines(plane), ['gw:80', ' a.com', 'gw:81', ' *'])
  await plane.run(plane.client.delete(gateways, { namespace, name: 'gw' }))
  await plane.settle()
  assert.deepEqual(lines(plane), [])
})

test('nothing is written or published without a reason, and times of conditions are kept', async t => {
  const plane = await start(t)
  await createBackend(plane)
  await createGateway(plane)
  await createRoute(plane)
  const before = [await getGateway(plane), await getRoute(plane)]
  const changes = plane.changes()
  await plane.advance(3_600_000)
  await plane.create(services, { metadata: { namespace, name: 'other' }, spec: { ports: [{ port: 80 }] } })
  const after = [await getGateway(plane), await getRoute(plane)]
  assert.deepEqual(
    after.map(({ metadata }) => metadata.resourceVersion),
    before.map(({ metadata }) => metadata.resourceVersion),
  )
  assert.equal(plane.changes(), changes)
  await plane.change(httpRoutes, 'default/web', ({ spec, ...rest }) => ({
    ...rest,
    spec: { ...spec, hostnames: ['a.com'] },
  }))
  const [was, is] = [before[1] as Stored<HTTPRoute>, await getRoute(plane)].map(({ status }) => {
    return status?.parents[0]?.conditions[0]
  })
  assert.equal(is?.lastTransitionTime, was?.lastTransitionTime)
  assert.equal(Number(is?.observedGeneration), Number(was?.observedGeneration) + 1)
})

test('statuses of other controllers are kept, and own ones are removed with their reason', async t => {
  const plane = await start(t)
  await createGateway(plane)
  await createRoute(plane)
  const foreign = {
    parentRef: { name: 'other' },
    controllerName: 'example.com/controller',
    conditions: [
      {
        type: 'Accepted',
        status: 'True' as const,
        reason: 'Accepted',
        message: '',
        lastTransitionTime: '2030-01-01T00:00:00Z',
      },
    ],
  }
  await plane.changeStatus(httpRoutes, 'default/web', route => ({
    ...route,
    status: { parents: [...(route.status?.parents ?? []), foreign] },
  }))
  const controllers = async (): Promise<string> => {
    return ((await getRoute(plane)).status?.parents ?? []).map(each => each.controllerName).join(' ')
  }
  assert.equal(await controllers(), 'example.com/controller k8ts.io/gateway-controller')
  await plane.change(httpRoutes, 'default/web', ({ spec, ...rest }) => ({
    ...rest,
    spec: { ...spec, parentRefs: [{ name: 'other' }] },
  }))
  assert.equal(await controllers(), 'example.com/controller')
})

test('ports of the node survive a restart and are not given to another Gateway', async t => {
  const plane = await start(t)
  await createGateway(plane, 'b')
  await createGateway(plane, 'a')
  const ports = (): string => {
    const all = plane.source.configuration?.listeners ?? []
    return all.map(({ id, port }) => `${id.slice('gateway/default/'.length)} ${port}`).join(', ')
  }
  assert.equal(ports(), 'a:80 20001, b:80 20000')
  await plane.restart()
  assert.equal(ports(), 'a:80 20001, b:80 20000')
  // Without a garbage collector, the EndpointSlice of the removed Gateway stays.
  await plane.run(plane.client.delete(gateways, { namespace, name: 'b' }))
  await createGateway(plane, 'c')
  assert.equal(ports(), 'a:80 20001, c:80 20002')
})

test('a Service that was changed or deleted by others is restored, and one without use removed', async t => {
  const plane = await start(t)
  await createGateway(plane)
  const get = async () => plane.run(plane.client.find(services, { namespace, name: 'gw-k8ts' }))
  await plane.change(services, 'default/gw-k8ts', service => ({
    ...service,
    spec: { ...service.spec, ports: [{ name: 'x', port: 99 }] },
  }))
  assert.deepEqual(
    (await get())?.spec?.ports?.map(({ port }) => port),
    [80],
  )
  await plane.run(plane.client.delete(services, { namespace, name: 'gw-k8ts' }))
  await plane.settle()
  assert.notEqual(await get(), undefined)
  await plane.create(gatewayClasses, {
    metadata: { name: 'other' },
    spec: { controllerName: 'example.com/x' },
  })
  await plane.change(gateways, 'default/gw', ({ spec, ...rest }) => {
    return { ...rest, spec: { ...spec, gatewayClassName: 'other' } }
  })
  assert.equal(await get(), undefined)
})

test('an event says why a Service cannot be created', async t => {
  let isRefused = false
  const refusal = apiError('Forbidden', 'exceeded quota')
  const admission = refuseCreation(plural => (isRefused && plural === 'services' ? refusal : undefined))
  const plane = await start(t, { admission })
  isRefused = true
  await createGateway(plane)
  const [event] = await plane.list(events)
  assert.deepEqual([event?.reason, event?.involvedObject.name], ['SyncServiceFailed', 'gw'])
  assert.match(event?.message ?? '', /exceeded quota/)
  isRefused = false
  await plane.advance(120_000)
  assert.ok((await plane.list(services)).some(({ metadata }) => metadata.name === 'gw-k8ts'))
})

test('a certificate of another namespace is used with its Secret and a ReferenceGrant', async t => {
  const plane = await start(t)
  await plane.create(namespaces, { metadata: { name: 'certs' } })
  const certificateRefs = [{ name: 'tls', namespace: 'certs' }]
  await createGateway(plane, 'gw', [
    { name: 'https', port: 443, protocol: 'HTTPS', tls: { certificateRefs } },
  ])
  const resolvedRefs = async (): Promise<string | undefined> => {
    const [listener] = (await getGateway(plane)).status.listeners ?? []
    return listener?.conditions.find(({ type }) => type === 'ResolvedRefs')?.reason
  }
  assert.equal(await resolvedRefs(), 'RefNotPermitted')
  await plane.create(referenceGrants, {
    metadata: { namespace: 'certs', name: 'gateways' },
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace }],
      to: [{ group: '', kind: 'Secret' }],
    },
  })
  assert.equal(await resolvedRefs(), 'InvalidCertificateRef')
  const { cert, key } = await testKeyPair(['a.com'])
  const data = { 'tls.crt': btoa(cert), 'tls.key': btoa(key) }
  const metadata = { namespace: 'certs', name: 'tls' }
  await plane.create(secrets, { metadata, type: 'kubernetes.io/tls', data })
  assert.equal(await resolvedRefs(), 'ResolvedRefs')
  assert.equal(plane.source.configuration?.listeners[0]?.certificates.length, 2)
  await plane.run(plane.client.delete(secrets, metadata))
  await plane.settle()
  assert.equal(await resolvedRefs(), 'InvalidCertificateRef')
  assert.equal(plane.source.configuration?.listeners[0]?.certificates.length, 0)
})

test('a policy gives TLS to backends when its ConfigMap exists, and has a status', async t => {
  const plane = await start(t)
  await createBackend(plane)
  await createGateway(plane)
  await createRoute(plane)
  await plane.create(backendTlsPolicies, {
    metadata: { namespace, name: 'web' },
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name: 'web' }],
      validation: { hostname: 'a.com', caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'ca' }] },
    },
  })
  const accepted = async (): Promise<string | undefined> => {
    const { status } = await plane.run(plane.client.get(backendTlsPolicies, { namespace, name: 'web' }))
    return status?.ancestors[0]?.conditions.find(({ type }) => type === 'Accepted')?.reason
  }
  assert.equal(await accepted(), 'NoValidCACertificate')
  assert.deepEqual(lines(plane), ['gw:80', ' *', '  / -> 500'])
  const { cert } = await testKeyPair(['a.com'])
  await plane.create(configMaps, { metadata: { namespace, name: 'ca' }, data: { 'ca.crt': cert } })
  assert.equal(await accepted(), 'Accepted')
  assert.deepEqual(lines(plane), ['gw:80', ' *', '  / -> web:80/https1'])
  await plane.run(plane.client.delete(httpRoutes, { namespace, name: 'web' }))
  await plane.settle()
  assert.equal(await accepted(), undefined)
})

test('gRPC routes have a status, too', async t => {
  const plane = await start(t)
  await createGateway(plane)
  await plane.create(grpcRoutes, {
    metadata: { namespace, name: 'grpc' },
    spec: { parentRefs: [{ name: 'gw' }], rules: [{ backendRefs: [{ name: 'none', port: 80 }] }] },
  })
  const { status } = await plane.run(plane.client.get(grpcRoutes, { namespace, name: 'grpc' }))
  assert.equal(
    texts(status?.parents[0]?.conditions),
    'Accepted=True:Accepted ResolvedRefs=False:BackendNotFound',
  )
})

test('a class of the controller starts its process, which may watch it', async t => {
  const plane = await start(t)
  const spec = { controllerName: 'example.com/other' }
  await plane.create(gatewayClasses, { metadata: { name: 'other' }, spec })
  const client = plane.clientAs(username, [])
  const { resource, definition, isServed } = servedGatewayClasses
  assert.ok(gatewayApiDefinitions.some(({ metadata }) => metadata.name === definition))
  assert.equal((await plane.run(client.list(resource))).items.length, 2)
  const served = ['k8ts', 'other', 'none'].map(name => isServed(client, { name }))
  assert.deepEqual(await plane.run(Promise.all(served)), [true, false, false])
})

test('the definitions may come and go', async t => {
  const plane = await start(t, { withDefinitions: false })
  assert.deepEqual(lines(plane), [])
  await define(plane)
  await createGateway(plane)
  assert.deepEqual(lines(plane), ['gw:80', ' *'])
  await plane.run(
    plane.client.delete(customResourceDefinitions, { name: 'gateways.gateway.networking.k8s.io' }),
  )
  await plane.settle()
  assert.deepEqual(lines(plane), [])
  const definition = gatewayApiDefinitions.find(({ spec }) => spec.names.kind === 'Gateway')
  await plane.create(customResourceDefinitions, definition!)
  await createGateway(plane, 'again')
  assert.deepEqual(lines(plane), ['again:80', ' *'])
})
