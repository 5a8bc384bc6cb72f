/** Availability of extension servers, and the discovery and OpenAPI documents merged from them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitUntil } from '../wait-until.ts'
import { apiServiceName, apiServicesPath, startWorld, type AggregationWorld } from './aggregation-world.ts'
import { flunders, groupVersion, json, startExtensionServer, type Answer } from './extension-server.ts'

const flundersPath = `/apis/${groupVersion}/namespaces/default/flunders`
const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

interface Version {
  readonly version: string
  readonly freshness: string
  readonly resources: readonly { readonly resource: string }[]
}

interface Group {
  readonly metadata: { readonly name: string }
  readonly versions: readonly Version[]
}

async function aggregatedGroups({ send }: AggregationWorld): Promise<readonly Group[]> {
  const { body } = await send('/apis', { headers: { accept } })
  return body['items'] as unknown as readonly Group[]
}

async function wardleVersions(world: AggregationWorld): Promise<readonly Version[]> {
  const groups = await aggregatedGroups(world)
  return groups.find(({ metadata }) => metadata.name === 'wardle.example.com')?.versions ?? []
}

async function waitForFreshness(world: AggregationWorld, expected: string): Promise<void> {
  await waitUntil(async () => (await wardleVersions(world))[0]?.freshness === expected)
}

const merge = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } }

test('the Available condition follows the service, its endpoints and the server', async t => {
  const world = await startWorld(t)
  const { send, register, availability, waitForAvailability, createService } = world
  await register()
  await waitForAvailability('ServiceNotFound')
  assert.deepEqual((await availability())[2], 'service/wardle in "default" is not present')
  const unavailable = await send(flundersPath)
  assert.equal(`${unavailable.code} ${unavailable.text}`, '503 service unavailable\n')
  assert.equal(unavailable.headers['content-type'], 'text/plain; charset=utf-8')
  await createService()
  await waitForAvailability('Passed')
  assert.deepEqual(await availability(), ['True', 'Passed', 'all checks passed'])
  assert.equal((await send(flundersPath)).code, 200)
  const service = '/api/v1/namespaces/default/services/wardle'
  const slice = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/wardle-1'
  await send(slice, {
    ...merge,
    body: { endpoints: [{ addresses: ['10.0.0.7'], conditions: { ready: false } }] },
  })
  await waitForAvailability('MissingEndpoints')
  assert.equal((await send(flundersPath)).code, 503)
  await send(slice, {
    ...merge,
    body: { endpoints: [{ addresses: ['10.0.0.7'], conditions: { ready: true } }] },
  })
  await waitForAvailability('Passed')
  await send(`${apiServicesPath}/${apiServiceName}`, { ...merge, body: { spec: { service: { port: 80 } } } })
  await waitForAvailability('ServicePortError')
  await send(`${apiServicesPath}/${apiServiceName}`, {
    ...merge,
    body: { spec: { service: { port: 7443 } } },
  })
  await waitForAvailability('Passed')
  await send(slice, { method: 'DELETE' })
  await waitForAvailability('EndpointsNotFound')
  await send(service, { method: 'DELETE' })
  await waitForAvailability('ServiceNotFound')
})

test('a server that does not answer, or not as itself, is not available', async t => {
  const world = await startWorld(t)
  const { send, extension, register, availability, waitForAvailability, createService, certificates } = world
  extension.answers.set(`/apis/${groupVersion}`, (_request, response) => response.writeHead(500).end())
  await createService()
  await register()
  await waitForAvailability('FailedDiscoveryCheck')
  const url = `https://10.0.0.7:6443/apis/${groupVersion}`
  const failing = `failing or missing response from ${url}: `
  assert.equal((await availability())[2], `${failing}bad status from ${url}: 500`)
  extension.answers.delete(`/apis/${groupVersion}`)
  await waitForAvailability('Passed')
  // A certificate authority that did not sign the server's certificate.
  const stranger = Buffer.from(certificates.frontProxyCa.cert).toString('base64')
  await send(`${apiServicesPath}/${apiServiceName}`, { ...merge, body: { spec: { caBundle: stranger } } })
  await waitForAvailability('FailedDiscoveryCheck')
  const untrusted = 'tls: failed to verify certificate: x509: certificate signed by unknown authority'
  assert.equal((await availability())[2], `${failing}Get "${url}": ${untrusted}`)
  assert.equal((await send(flundersPath)).code, 503)
  const insecure = { caBundle: null, insecureSkipTLSVerify: true }
  await send(`${apiServicesPath}/${apiServiceName}`, { ...merge, body: { spec: insecure } })
  await waitForAvailability('Passed')
  assert.equal((await send(flundersPath)).code, 200)
  // The name in the certificate must be that of the service.
  const other = { metadata: { name: 'other' }, spec: { type: 'ExternalName', externalName: 'localhost' } }
  await send('/api/v1/namespaces/default/services', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: other,
  })
  const ca = Buffer.from(certificates.ca.cert).toString('base64')
  const spec = {
    service: { name: 'other', port: extension.port },
    caBundle: ca,
    insecureSkipTLSVerify: false,
  }
  await send(`${apiServicesPath}/${apiServiceName}`, { ...merge, body: { spec } })
  await waitForAvailability('FailedDiscoveryCheck')
  assert.match((await availability())[2] ?? '', /x509: .*other\.default\.svc/)
})

test('a server that dies is noticed, and one that returns', async t => {
  const world = await startWorld(t)
  const { extension, register, send, waitForAvailability, createService, certificates, metrics } = world
  const figures = (): string[] => {
    const lines = metrics.registry.render().split('\n')
    return lines.filter(line => line.startsWith('aggregator_') && line.includes(apiServiceName))
  }
  await createService()
  await register()
  await waitForAvailability('Passed')
  await waitForFreshness(world, 'Current')
  assert.deepEqual(figures(), [`aggregator_unavailable_apiservice{name="${apiServiceName}"} 0`])
  await extension.stop()
  const { code, text } = await send(flundersPath)
  assert.equal(code, 503)
  assert.match(text, /^error trying to reach service: /)
  // Any change of the service triggers a check.
  const service = '/api/v1/namespaces/default/services/wardle'
  await send(service, { ...merge, body: { metadata: { labels: { a: 'b' } } } })
  await waitForAvailability('FailedDiscoveryCheck')
  await waitForFreshness(world, 'Stale')
  assert.deepEqual(figures(), [
    `aggregator_unavailable_apiservice{name="${apiServiceName}"} 1`,
    `aggregator_unavailable_apiservice_total{name="${apiServiceName}",reason="FailedDiscoveryCheck"} 1`,
  ])
  assert.deepEqual((await wardleVersions(world))[0]?.resources, [flunders])
  assert.equal((await send('/apis/wardle.example.com')).code, 200)
  const serving = world.extensionCertificate
  await startExtensionServer(t, {
    serving,
    frontProxyCa: certificates.frontProxyCa.cert,
    port: extension.port,
  })
  await waitForAvailability('Passed')
  await waitForFreshness(world, 'Current')
})

test('discovery never waits for an extension server', async t => {
  const world = await startWorld(t)
  const { send, extension, register, createService } = world
  const hangs: Answer = () => undefined
  for (const path of ['/apis', `/apis/${groupVersion}`, '/openapi/v2', '/openapi/v3']) {
    extension.answers.set(path, hangs)
  }
  await createService()
  await register()
  await waitUntil(() => extension.paths.includes(`/apis/${groupVersion}`))
  const apps = await aggregatedGroups(world)
  assert.ok(apps.some(({ metadata }) => metadata.name === 'apps'))
  assert.deepEqual(await wardleVersions(world), [{ version: 'v1alpha1', freshness: 'Stale' }])
  for (const path of [
    '/apis',
    '/apis/wardle.example.com',
    '/openapi/v3',
    '/openapi/v2',
    '/apis/apps/v1',
    '/',
  ]) {
    assert.equal((await send(path)).code, 200, path)
  }
  // Not available yet, so that it is not asked at all.
  assert.equal((await send(`/apis/${groupVersion}`)).code, 503)
})

test('groups and versions of extension servers are in discovery, by priority', async t => {
  const world = await startWorld(t)
  const { send, register, waitForAvailability, createService } = world
  await createService()
  await register()
  await waitForAvailability('Passed')
  await waitForFreshness(world, 'Current')
  assert.deepEqual(await wardleVersions(world), [
    { version: 'v1alpha1', resources: [flunders], freshness: 'Current' },
  ])
  await register({ versionPriority: 300, groupPriorityMinimum: 17_790 }, 'v1beta1')
  const version = (name: string): object => ({ groupVersion: `wardle.example.com/${name}`, version: name })
  const facts = {
    name: 'wardle.example.com',
    versions: [version('v1beta1'), version('v1alpha1')],
    preferredVersion: version('v1beta1'),
  }
  await waitUntil(async () => (await wardleVersions(world)).length === 2)
  assert.deepEqual((await send('/apis/wardle.example.com')).body, {
    kind: 'APIGroup',
    apiVersion: 'v1',
    ...facts,
  })
  const { body } = await send('/apis')
  const groups = body['groups'] as unknown as readonly { readonly name: string }[]
  const names = groups.map(({ name }) => name)
  assert.deepEqual(names.slice(0, 4), [
    'apiregistration.k8s.io',
    'apps',
    'wardle.example.com',
    'events.k8s.io',
  ])
  assert.deepEqual(groups[2], facts)
  const paths = (await send('/')).body['paths'] as unknown as readonly string[]
  assert.ok(paths.includes(`/apis/${groupVersion}`))
  assert.equal((await send(`/apis/${groupVersion}`)).body['groupVersion'], groupVersion)
  await send(`${apiServicesPath}/v1beta1.wardle.example.com`, { method: 'DELETE' })
  await send(`${apiServicesPath}/${apiServiceName}`, { method: 'DELETE' })
  await waitUntil(async () => (await send('/apis/wardle.example.com')).code === 404)
  assert.equal((await send(flundersPath)).code, 404)
})

test('a server without aggregated discovery is asked for its resource list', async t => {
  const world = await startWorld(t)
  const { extension, register, createService } = world
  extension.answers.set('/apis', json({ kind: 'APIGroupList', apiVersion: 'v1', groups: [] }))
  await createService()
  await register()
  await waitForFreshness(world, 'Current')
  const { responseKind: _kind, ...rest } = flunders
  const responseKind = { group: '', version: '', kind: 'Flunder' }
  assert.deepEqual((await wardleVersions(world))[0]?.resources, [{ ...rest, responseKind }])
})

test('the schemas of an extension server are published, but only for its own group version', async t => {
  const { send, register, createService } = await startWorld(t)
  await createService()
  await register()
  const index = async (): Promise<Record<string, { serverRelativeURL: string }>> => {
    const { body } = await send('/openapi/v3')
    return body['paths'] as unknown as Record<string, { serverRelativeURL: string }>
  }
  await waitUntil(async () => (await index())[`apis/${groupVersion}`] !== undefined)
  const url = `/openapi/v3/apis/${groupVersion}?hash=ABC`
  assert.equal((await index())[`apis/${groupVersion}`]?.serverRelativeURL, url)
  assert.doesNotMatch((await index())['apis/apps/v1']?.serverRelativeURL ?? '', /EVIL/)
  assert.deepEqual((await send(url)).body, { openapi: '3.0.0', info: { title: 'wardle' }, paths: {} })
  const path = `/apis/${groupVersion}/flunders`
  const version2 = async (): Promise<Record<string, Record<string, unknown>>> => {
    return (await send('/openapi/v2')).body
  }
  await waitUntil(async () => (await version2())['paths']?.[path] !== undefined)
  const { definitions, paths } = await version2()
  assert.deepEqual(definitions?.['wardle.Flunder'], { type: 'object' })
  assert.ok(paths?.['/api/v1/namespaces'])
  const type = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
  assert.equal((await send('/openapi/v2', { headers: { accept: type } })).code, 200)
})

test('malformed and huge documents of an extension server do not affect others', async t => {
  const world = await startWorld(t)
  const { extension, register, createService, send } = world
  const endless: Answer = (_request, response) => {
    const piece = Buffer.alloc(256 * 1024, ' ')
    response.writeHead(200, { 'content-type': accept })
    const write = (): void => {
      while (response.write(piece)) if (response.destroyed) return
    }
    response.on('drain', write)
    write()
  }
  extension.answers.set('/apis', endless)
  extension.answers.set('/openapi/v3', json([1, null]))
  extension.answers.set('/openapi/v2', (_request, response) => response.end('{"paths":'))
  await createService()
  await register()
  await waitUntil(() => extension.paths.filter(path => path === '/apis').length > 1)
  assert.equal((await wardleVersions(world))[0]?.freshness, 'Stale')
  assert.equal((await send(flundersPath)).code, 200)
  extension.answers.delete('/apis')
  await waitForFreshness(world, 'Current')
  await waitUntil(() => extension.paths.filter(path => path === '/openapi/v2').length > 1)
  for (const path of ['/openapi/v3', '/openapi/v2', '/apis']) assert.equal((await send(path)).code, 200, path)
})

test('an extension server replaces metrics that this server could serve itself', async t => {
  const { send, createService, waitForAvailability, extension, certificates } = await startWorld(t)
  const path = '/apis/metrics.k8s.io/v1beta1/nodes'
  assert.equal((await send(path)).body.kind, 'NodeMetricsList')
  extension.answers.set('/apis/metrics.k8s.io/v1beta1', json({ kind: 'APIResourceList', resources: [] }))
  extension.answers.set(path, json({ kind: 'OfMetricsServer' }))
  await createService()
  const name = 'v1beta1.metrics.k8s.io'
  const spec = {
    group: 'metrics.k8s.io',
    version: 'v1beta1',
    groupPriorityMinimum: 100,
    versionPriority: 100,
    service: { namespace: 'default', name: 'wardle', port: 7443 },
    caBundle: Buffer.from(certificates.ca.cert).toString('base64'),
  }
  const headers = { 'content-type': 'application/json' }
  assert.equal(
    (await send(apiServicesPath, { method: 'POST', headers, body: { metadata: { name }, spec } })).code,
    201,
  )
  await waitForAvailability('Passed', name)
  assert.equal((await send(path)).body.kind, 'OfMetricsServer')
  const { body } = await send('/openapi/v3')
  assert.equal((body['paths'] as unknown as Record<string, object>)['apis/metrics.k8s.io/v1beta1'], undefined)
  await send(`${apiServicesPath}/${name}`, { method: 'DELETE' })
  await waitUntil(async () => (await send(path)).text.includes('"kind":"NodeMetricsList"'))
})
