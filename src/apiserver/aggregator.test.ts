import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { APIService } from '#/api/generated/apiregistration/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { waitUntil } from '../../tests/wait-until.ts'
import { startTestServer, type TestServer } from './test-server.ts'

const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

function definition(plural: string, ...versions: readonly string[]): object {
  const schema = { openAPIV3Schema: { type: 'object' } }
  return {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind: plural.toUpperCase() },
      versions: versions.map((name, index) => ({ name, served: true, storage: index === 0, schema })),
    },
  }
}

/** Names of the APIServices, with what distinguishes them. */
async function registered({ request }: Pick<TestServer, 'request'>): Promise<readonly string[]> {
  const { body } = await request('GET', apiServices)
  return (body['items'] as unknown as readonly Stored<APIService>[]).map(({ metadata, spec, status }) => {
    const label = metadata.labels?.['kube-aggregator.kubernetes.io/automanaged']
    const reasons = status?.conditions?.map(({ reason }) => reason)
    return [metadata.name, label, spec?.groupPriorityMinimum, spec?.versionPriority, reasons].join(' ')
  })
}

test('the group versions of the server are registered when it has started', async t => {
  const names = await registered(await startTestServer(t))
  assert.ok(names.includes('v1. onstart 18000 1 Local'), names.join('\n'))
  assert.ok(names.includes('v1.apps onstart 17800 15 Local'), names.join('\n'))
  assert.ok(names.includes('v2.autoscaling onstart 17500 30 Local'), names.join('\n'))
  assert.ok(!names.some(name => /apiregistration|metrics/.test(name)), names.join('\n'))
})

test('the group versions of custom resources are registered while they are served', async t => {
  const server = await startTestServer(t)
  const { request } = server
  const waitFor = (expected: readonly string[]): Promise<void> => {
    return waitUntil(async () => {
      const found = (await registered(server)).filter(name => name.includes('.example.com '))
      return JSON.stringify(found) === JSON.stringify(expected)
    })
  }
  const one = 'v1.example.com true 1000 100 Local'
  const beta = 'v1beta1.example.com true 1000 100 Local'
  await request('POST', definitions, definition('as', 'v1', 'v1beta1'))
  await waitFor([one, beta])
  await request('POST', definitions, definition('bs', 'v1'))
  await request('DELETE', `${apiServices}/v1.example.com`)
  await waitFor([one, beta])
  const merge = { 'content-type': 'application/merge-patch+json' }
  await request('PATCH', `${apiServices}/v1.example.com`, { spec: { versionPriority: 7 } }, merge)
  await waitFor([one, beta])
  await request('DELETE', `${definitions}/as.example.com`)
  await waitFor([one])
  await request('DELETE', `${definitions}/bs.example.com`)
  await waitFor([])
})

test('the registration at the start corrects what the server keeps itself, and nothing else', async t => {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const store = await MemoryStore.open({ platform })
  const first = await startTestServer({ after: () => undefined }, platform, { store })
  const { request, server } = first
  const merge = { 'content-type': 'application/merge-patch+json' }
  await request('DELETE', `${apiServices}/v1.apps`)
  await request('PATCH', `${apiServices}/v1.batch`, { spec: { versionPriority: 7 } }, merge)
  const unlabelled = { metadata: { labels: null }, spec: { versionPriority: 7 } }
  await request('PATCH', `${apiServices}/v1.policy`, unlabelled, merge)
  const gone = {
    metadata: { name: 'v1.gone.io', labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' } },
  }
  const spec = { group: 'gone.io', version: 'v1', groupPriorityMinimum: 100, versionPriority: 10 }
  await request('POST', apiServices, { ...gone, spec })
  const before = await registered(first)
  assert.ok(!before.some(name => name.startsWith('v1.apps ')))
  assert.ok(before.includes('v1.batch onstart 17400 7 Local'), before.join('\n'))
  await server.stop()
  const after = await registered(await startTestServer(t, platform, { store }))
  assert.ok(after.includes('v1.apps onstart 17800 15 Local'), after.join('\n'))
  assert.ok(after.includes('v1.batch onstart 17400 15 Local'), after.join('\n'))
  assert.ok(after.includes('v1.policy  17100 7 Local'), after.join('\n'))
  assert.ok(!after.some(name => name.startsWith('v1.gone.io ')), after.join('\n'))
})

test('an APIService that becomes local is available', async t => {
  const { request } = await startTestServer(t)
  const service = { namespace: 'default', name: 'nothing' }
  const spec = { group: 'x.io', version: 'v1', groupPriorityMinimum: 100, versionPriority: 10 }
  const path = `${apiServices}/v1.x.io`
  await request('POST', apiServices, { metadata: { name: 'v1.x.io' }, spec: { ...spec, service } })
  const waitFor = (reason: string): Promise<void> => {
    return waitUntil(async () =>
      JSON.stringify((await request('GET', path)).body).includes(`"reason":"${reason}"`),
    )
  }
  await waitFor('ServiceNotFound')
  const { code, text } = await request('GET', '/apis/x.io/v1/things')
  assert.deepEqual([code, text], [503, 'service unavailable\n'])
  await request(
    'PATCH',
    path,
    { spec: { service: null } },
    { 'content-type': 'application/merge-patch+json' },
  )
  await waitFor('Local')
  assert.equal((await request('GET', '/apis/x.io/v1/things')).code, 404)
})

test('requests for APIServices are never forwarded', async t => {
  const { request } = await startTestServer(t)
  const name = 'v1.apiregistration.k8s.io'
  const service = { namespace: 'default', name: 'nothing' }
  const group = 'apiregistration.k8s.io'
  const spec = { group, version: 'v1', groupPriorityMinimum: 100, versionPriority: 10, service }
  assert.equal((await request('POST', apiServices, { metadata: { name }, spec })).code, 201)
  assert.equal((await request('GET', `${apiServices}/${name}`)).code, 200)
  assert.equal((await request('DELETE', `${apiServices}/${name}`)).code, 200)
})
