import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configMaps, pods } from '#/api/generated/core/v1-resources.ts'
import { decodePass, passHeader, type Pass } from '#/api/origin.ts'
import { Simulation } from '#/platform/simulated.ts'
import { valueResponse } from '#/simulation/faulty-transport.ts'
import { clientOf, type Client } from './client.ts'
import { inProcessTransport } from './in-process.ts'
import { PassClient } from './pass-client.ts'

const web = { namespace: 'default', name: 'web' }
const binding = { ...web, subresource: 'binding' }
const pass: Pass = {
  component: 'default-scheduler',
  key: 'default/web',
  causes: [7, 9],
  queuedMs: 1_000,
  startedMs: 1_001,
  steps: [{ name: 'filter', startMs: 1, durationMs: 2, detail: '3/4 nodes' }],
}

/** The passes in the headers of the requests that the client sends. */
async function passesOf(call: (client: Client) => Promise<unknown>, isWrapped: boolean): Promise<unknown[]> {
  const passes: unknown[] = []
  const transport = inProcessTransport({
    handle: async ({ headers }) => {
      const header = headers[passHeader]
      passes.push(header === undefined ? undefined : decodePass(header))
      return valueResponse({ kind: 'Any', metadata: {}, items: [] }, 200)
    },
    user: { username: 'test', groups: [] },
  })
  const platform = new Simulation({ seed: 1 }).host('client')
  const client = clientOf({ platform, transport, userAgent: 'test' })
  await call(isWrapped ? new PassClient(client, () => pass) : client)
  return passes
}

const writes: readonly ((client: Client) => Promise<unknown>)[] = [
  client => client.create(configMaps, { metadata: web }),
  client => client.update(configMaps, { metadata: web }, { dryRun: true }),
  client => client.updateStatus(pods, { metadata: web }),
  client => client.patch(pods, web, { type: 'merge', patch: {} }),
  client => client.apply(configMaps, { metadata: web }, { fieldManager: 'me' }),
  client => client.delete(pods, web, { gracePeriodSeconds: 0 }),
  client => client.deleteCollection(pods, { namespace: 'default' }),
  client => client.createSubresource(pods, binding, {}),
  client => client.updateSubresource(pods, binding, {}),
  client => client.raw({ method: 'POST', path: '/api/v1/namespaces' }),
]

const reads: readonly ((client: Client) => Promise<unknown>)[] = [
  client => client.get(pods, web),
  client => client.find(pods, web),
  client => client.list(pods),
  client => client.listAll(pods),
  client => client.getSubresource(pods, binding),
  client => client.raw({ method: 'GET', path: '/version' }),
]

test('PassClient: every write carries the pass, no read does', async () => {
  for (const write of writes) assert.deepEqual(await passesOf(write, true), [pass], String(write))
  for (const read of reads) assert.deepEqual(await passesOf(read, true), [undefined], String(read))
})

test('a client sends the pass of a call with writes only', async () => {
  const create = (client: Client): Promise<unknown> => client.create(configMaps, { metadata: web }, { pass })
  assert.deepEqual(await passesOf(create, false), [pass])
  assert.deepEqual(await passesOf(client => client.get(pods, web, { pass }), false), [undefined])
  assert.deepEqual(await passesOf(writes[0]!, false), [undefined])
})
