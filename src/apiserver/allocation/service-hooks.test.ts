import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServicePort, ServiceSpec } from '#/api/generated/core/v1.ts'
import { nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { part, startTestServer, type AnyObject, type TestServer } from '../test-server.ts'

const services = '/api/v1/namespaces/default/services'

test('a service gets a cluster IP, which is released on deletion', async t => {
  const { request } = await startTestServer(t)
  const first = await create(request, 'a', {})
  const second = await create(request, 'b', {})
  const addresses = [first, second].map(service => String(service['spec']!['clusterIP']))
  assert.match(addresses[0]!, /^10\.96\.\d+\.\d+$/u)
  assert.notEqual(addresses[0], addresses[1])
  assert.deepEqual(first['spec']!['clusterIPs'], [addresses[0]])
  assert.deepEqual(
    [first['spec']!['ipFamilies'], first['spec']!['ipFamilyPolicy']],
    [['IPv4'], 'SingleStack'],
  )
  assert.equal((await request('GET', `/apis/networking.k8s.io/v1/ipaddresses/${addresses[0]}`)).code, 200)
  await request('DELETE', `${services}/a`)
  assert.equal((await request('GET', `/apis/networking.k8s.io/v1/ipaddresses/${addresses[0]}`)).code, 404)
  assert.equal(
    String((await create(request, 'c', { clusterIP: addresses[0] }))['spec']!['clusterIP']),
    addresses[0],
  )
})

test('a cluster IP that is allocated or out of range is rejected', async t => {
  const { request } = await startTestServer(t)
  await create(request, 'a', { clusterIP: '10.96.0.77' })
  const check = async (clusterIP: string, message: RegExp): Promise<void> => {
    const refused = await request('POST', services, service('b', { clusterIP }))
    assert.deepEqual(
      [refused.code, refused.body.details?.causes?.[0]?.field],
      [422, 'spec.clusterIPs'],
      refused.text,
    )
    assert.match(refused.body.message ?? '', message)
    assert.equal((await request('GET', `${services}/b`)).code, 404)
  }
  await check('10.96.0.77', /provided IP is already allocated/u)
  await check('192.168.0.1', /not in the valid range/u)
})

test('headless and ExternalName services get no cluster IP', async t => {
  const { request } = await startTestServer(t)
  const headless = await create(request, 'a', { clusterIP: 'None' })
  assert.deepEqual(headless['spec']!['clusterIPs'], ['None'])
  const external = await create(request, 'b', {
    type: 'ExternalName',
    externalName: 'example.com',
    ports: undefined,
  })
  assert.equal(external['spec']!['clusterIP'], undefined)
  assert.deepEqual(await addressNames(request), ['10.96.0.1'])
})

test('node ports are allocated, kept on update, and rejected if allocated or out of range', async t => {
  const { request } = await startTestServer(t)
  const first = await create(request, 'a', { type: 'NodePort' })
  const port = nodePortOf(first)
  assert.ok(port >= 30_000 && port <= 32_767)
  const updated = await request('PUT', `${services}/a`, {
    ...first,
    metadata: { ...first.metadata, labels: { x: 'y' } },
  })
  assert.equal(nodePortOf(updated.body), port, updated.text)
  const taken = await request(
    'POST',
    services,
    service('b', { type: 'NodePort', ports: [{ port: 80, nodePort: port }] }),
  )
  assert.match(taken.body.message ?? '', /provided port is already allocated/u)
  const outside = await request(
    'POST',
    services,
    service('b', { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] }),
  )
  assert.match(outside.body.message ?? '', /valid ports is 30000-32767/u)
  assert.deepEqual((await addressNames(request)).length, 2)
  await request('DELETE', `${services}/a`)
  assert.equal(
    nodePortOf(await create(request, 'b', { type: 'NodePort', ports: [{ port: 80, nodePort: port }] })),
    port,
  )
})

test('a service that wants no node ports gets none on update, whatever its traffic policy', async t => {
  const { request } = await startTestServer(t)
  const spec = { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, externalTrafficPolicy: 'Local' }
  const created = await create(request, 'a', spec)
  const { body, code } = await request('PUT', `${services}/a`, {
    ...created,
    metadata: { ...created.metadata, labels: { x: 'y' } },
  })
  assert.equal(code, 200)
  const { ports, healthCheckNodePort } = part(body, 'spec') as unknown as ServiceSpec
  assert.notEqual(healthCheckNodePort, undefined)
  assert.deepEqual(
    ports?.map(({ nodePort }) => nodePort),
    [undefined],
  )
})

test('a dry run shows placeholders and allocates no cluster IP or node port', async t => {
  const { request } = await startTestServer(t)
  const tried = async (spec: Readonly<Record<string, unknown>>): Promise<AnyObject> => {
    const { code, body, text } = await request('POST', `${services}?dryRun=All`, service('a', spec))
    assert.equal(code, 201, text)
    return part(body, 'spec')
  }
  const local = await tried({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' })
  assert.deepEqual(local['clusterIPs'], ['10.96.0.0'])
  assert.deepEqual(
    [(local['ports'] as unknown as ServicePort[])[0]?.nodePort, local['healthCheckNodePort']],
    [32_769, 32_770],
  )
  const explicit = { clusterIP: '10.96.7.7', type: 'NodePort', ports: [{ port: 80, nodePort: 31_000 }] }
  await tried(explicit)
  // Allocated to another service, which only the real creation finds.
  await tried({ clusterIP: '10.96.0.1' })
  assert.deepEqual(await addressNames(request), ['10.96.0.1'])
  await create(request, 'b', explicit)
  const taken = await request('POST', `${services}?dryRun=All`, service('a', { ...explicit, clusterIP: '' }))
  assert.match(
    taken.body.message ?? '',
    /nodePort: Invalid value: 31000: provided port is already allocated$/u,
  )
})

test('a headless service without selector has both IP families', async t => {
  const { request } = await startTestServer(t)
  const { spec } = await create(request, 'a', { clusterIP: 'None', selector: {} })
  assert.deepEqual([spec?.['ipFamilies'], spec?.['ipFamilyPolicy']], [['IPv4', 'IPv6'], 'RequireDualStack'])
})

function service(name: string, spec: Readonly<Record<string, unknown>>) {
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name },
    spec: { ports: [{ port: 80 }], selector: { app: 'web' }, ...spec },
  }
}

async function create(
  request: TestServer['request'],
  name: string,
  spec: Readonly<Record<string, unknown>>,
): Promise<AnyObject> {
  const created = await request('POST', services, service(name, spec))
  assert.equal(created.code, 201, created.text)
  return created.body
}

function nodePortOf(body: AnyObject): number {
  const { ports } = body['spec'] as unknown as { readonly ports: readonly { readonly nodePort: number }[] }
  return ports[0]?.nodePort ?? 0
}

async function addressNames(request: TestServer['request']): Promise<readonly string[]> {
  const { body } = await request('GET', '/apis/networking.k8s.io/v1/ipaddresses')
  return (body['items'] as unknown as { metadata: { name: string } }[]).map(item => item.metadata.name)
}

test('node ports are allocated from the configured range, also after it changes', async t => {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const store = await MemoryStore.open({ platform })
  const start = (from: number, to: number): Promise<TestServer> =>
    startTestServer(t, platform, { store, nodePorts: { from, to } })
  const first = await start(100, 101)
  const [a, b] = [
    nodePortOf(await create(first.request, 'a', { type: 'NodePort' })),
    nodePortOf(await create(first.request, 'b', { type: 'NodePort' })),
  ]
  assert.deepEqual(new Set([a, b]), new Set([100, 101]))
  const full = await first.request('POST', services, service('c', { type: 'NodePort' }))
  assert.match(full.body.message ?? '', /range is full/)
  await first.server.stop()
  const second = await start(101, 102)
  assert.equal(nodePortOf(await create(second.request, 'c', { type: 'NodePort' })), 102)
  await second.request('DELETE', `${services}/${a === 100 ? 'a' : 'b'}`)
  const still = await second.request('POST', services, service('d', { type: 'NodePort' }))
  assert.match(still.body.message ?? '', /range is full/)
  await second.request('DELETE', `${services}/${a === 101 ? 'a' : 'b'}`)
  assert.equal(nodePortOf(await create(second.request, 'd', { type: 'NodePort' })), 101)
})
