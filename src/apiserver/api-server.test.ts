import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import { startTestServer } from './test-server.ts'

test('events of both API groups expire after the event TTL, other objects do not', async () => {
  const simulation = new Simulation({ seed: 1 })
  const cleanUps: (() => unknown)[] = []
  const t = { after: (action: () => unknown) => void cleanUps.push(action) } as never
  const { request } = await simulation.run(startTestServer(t, simulation.host('api'), { eventTtlMs: 10_000 }))
  const send = (method: string, url: string, body?: object): ReturnType<typeof request> =>
    simulation.run(request(method, url, body))
  const events = '/api/v1/namespaces/default/events'
  const involvedObject = { namespace: 'default', kind: 'Pod', name: 'p' }
  await send('POST', events, {
    metadata: { name: 'a' },
    involvedObject,
    reason: 'r',
    message: 'm',
    type: 'Normal',
  })
  await send('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } })
  await simulation.advance(8_000)
  assert.equal((await send('GET', `${events}/a`)).code, 200)
  assert.equal((await send('GET', '/apis/events.k8s.io/v1/namespaces/default/events/a')).code, 200)
  await simulation.advance(4_000)
  assert.equal((await send('GET', `${events}/a`)).code, 404)
  assert.equal((await send('GET', '/api/v1/namespaces/default/configmaps/a')).code, 200)
  for (const cleanUp of cleanUps) await simulation.run(Promise.resolve(cleanUp()))
})

test('a server with a new address updates only the endpoints of the kubernetes Service', async t => {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const store = await MemoryStore.open({ platform })
  const start = (by: Pick<TestContext, 'after'>, address: string, port: number) =>
    startTestServer(by, platform, { store, advertise: { address, port } })
  const paths = [
    '/api/v1/namespaces/default/services/kubernetes',
    '/api/v1/namespaces/default/endpoints/kubernetes',
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes',
  ]
  const first = await start({ after: () => undefined }, '10.0.0.1', 1001)
  const merge = { 'content-type': 'application/merge-patch+json' }
  for (const path of paths)
    await first.request('PATCH', path, { metadata: { labels: { kept: 'yes' } } }, merge)
  await first.server.stop()
  const { request } = await start(t, '10.0.0.2', 1002)
  const [service, endpoints, slice] = await Promise.all(paths.map(path => request('GET', path)))
  assert.equal(service?.body['spec']?.['ports']?.[0]?.['targetPort'], 1002)
  assert.deepEqual(endpoints?.body['subsets'], [
    { addresses: [{ ip: '10.0.0.2' }], ports: [{ name: 'https', port: 1002, protocol: 'TCP' }] },
  ])
  assert.deepEqual(slice?.body['endpoints'], [{ addresses: ['10.0.0.2'], conditions: { ready: true } }])
  assert.deepEqual(slice?.body['ports'], [{ name: 'https', port: 1002, protocol: 'TCP' }])
  for (const answer of [service, endpoints, slice]) assert.match(answer?.text ?? '', /"kept":"yes"/)
})
