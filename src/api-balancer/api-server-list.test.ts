import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { ServerList } from './api-server-balancer.ts'
import { ApiServerList, planServerList, readServerList, writeServerList } from './api-server-list.ts'

const path = '/var/lib/api-servers.json'
const metadata = { namespace: 'default', name: 'kubernetes' }

function sliceOf(addresses: readonly string[], port = 6443): EndpointSlice {
  const endpoints = addresses.map(address => ({
    addresses: [address.replace('!', '')],
    conditions: { ready: !address.endsWith('!') },
  }))
  const addressType = addresses[0]?.includes(':') ? 'IPv6' : 'IPv4'
  return { metadata, addressType, endpoints, ports: [{ name: 'https', port, protocol: 'TCP' }] }
}

test('the list has the ready endpoints of the EndpointSlice, and never becomes empty', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['10.0.0.1:6443', '10.0.0.2 10.0.0.1', '10.0.0.1:6443 10.0.0.2:6443'],
    ['10.0.0.1:6443', '10.0.0.2', '10.0.0.2:6443'],
    ['10.0.0.1:6443', '10.0.0.1! 10.0.0.2', '10.0.0.2:6443'],
    ['10.0.0.1:6443', '10.0.0.1!', 'same'],
    ['10.0.0.1:6443', '', 'same'],
    ['10.0.0.1:6443', '10.0.0.1', 'same'],
    ['10.0.0.2:6443 10.0.0.1:6443', '10.0.0.1 10.0.0.2', 'same'],
    ['10.0.0.1:7443', '10.0.0.1', '10.0.0.1:6443'],
    ['10.0.0.1:6443', 'fd00:0::2 fd00::1', '[fd00::1]:6443 [fd00::2]:6443'],
    ['10.0.0.1:6443', '10.0.0.2 10.0.0.2', '10.0.0.2:6443'],
  ]
  for (const [before, endpoints, expected] of cases) {
    const current = before.split(' ')
    const planned = planServerList(sliceOf(endpoints.split(' ').filter(Boolean)), current)
    assert.equal(planned === current ? 'same' : planned.join(' '), expected, endpoints)
  }
  const current = ['10.0.0.1:6443']
  assert.equal(planServerList({ metadata, addressType: 'IPv4', endpoints: [] }, current), current)
  assert.equal(planServerList({ ...sliceOf(['10.0.0.2']), ports: [] }, current), current)
})

test('a file that is not a list of API servers is refused with the reason', async () => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('n1')
  const read = async (content: string): Promise<ServerList> => {
    await platform.files.makeFolder('/var/lib')
    await platform.files.write(path, content)
    return readServerList(platform, path)
  }
  const errors: Readonly<Record<string, RegExp>> = {
    '{': /cannot read the list of API servers in \/var\/lib\/api-servers.json/,
    '3': /is invalid: it is not a JSON object; run k8ts join again/,
    '[]': /servers: must be a list/,
    '{}': /servers: must be a list/,
    '{"servers": []}': /servers: must be a list/,
    '{"servers": ["10.0.0.1:6443", "10.0.0.2"]}': /servers\[1\]: is not an address HOST:PORT/,
    '{"servers": [6443]}': /servers\[0\]: is not an address/,
    '{"servers": ["a:1"], "bootstrapServers": "a:1"}': /bootstrapServers: must be a list/,
    '{"servers": ["a:1"], "server": "a:1"}': /unknown field "server"/,
    [JSON.stringify({ servers: Array.from({ length: 101 }, (_, n) => `a${n}.b:1`) })]: /more than 100/,
  }
  for (const [content, error] of Object.entries(errors))
    await assert.rejects(simulation.run(read(content)), error)
  await assert.rejects(simulation.run(readServerList(platform, '/none')), /cannot read .* \/none: /)
  const joined = await simulation.run(read('{"servers": ["A.b:1", "[fd00::0]:2", "a.b:1"]}'))
  const servers = ['a.b:1', '[fd00::]:2']
  assert.deepEqual(joined, { servers, bootstrapServers: servers })
  const changed = { servers: ['10.0.0.1:1'], bootstrapServers: ['a.b:1'] }
  await simulation.run(writeServerList(platform, path, changed))
  assert.deepEqual(await simulation.run(readServerList(platform, path)), changed)
})

interface World extends TestControlPlane {
  /** The lists that the balancer got. */
  readonly lists: readonly ServerList[]
  readonly file: () => Promise<ServerList>
}

async function start(t: TestContext): Promise<World> {
  const plane = await startTestControlPlane(t, [])
  const { platform, run } = plane
  const servers = { servers: ['10.0.0.1:6443'], bootstrapServers: ['10.0.0.1:6443'] }
  await run(platform.files.makeFolder('/var/lib'))
  await run(writeServerList(platform, path, servers))
  const lists: ServerList[] = []
  const balancer = { setServers: (list: ServerList) => void lists.push(list) }
  const list = new ApiServerList({ platform, path, client: plane.client, balancer, servers })
  const stopping = new AbortController()
  const running = list.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await run(running)
  })
  await plane.settle()
  return { ...plane, lists, file: () => run(readServerList(platform, path)) }
}

test('balancer and file follow the EndpointSlice of the API servers, and only that', async t => {
  const { client, run, settle, lists, file } = await start(t)
  const found = await run(client.find(endpointSlices, metadata))
  if (found) await run(client.delete(endpointSlices, metadata))
  await settle()
  const initial = lists.length
  await run(client.create(endpointSlices, sliceOf(['10.0.0.1', '10.0.0.2'])))
  await run(
    client.create(endpointSlices, { ...sliceOf(['10.0.0.9']), metadata: { ...metadata, name: 'other' } }),
  )
  await settle()
  const both = { servers: ['10.0.0.1:6443', '10.0.0.2:6443'], bootstrapServers: ['10.0.0.1:6443'] }
  assert.deepEqual([lists.slice(initial), await file()], [[both], both])
  const stored = await run(client.get(endpointSlices, metadata))
  await run(client.update(endpointSlices, { ...stored, endpoints: [] }))
  await settle()
  await run(client.delete(endpointSlices, metadata))
  await settle()
  assert.deepEqual([lists.slice(initial), await file()], [[both], both])
  await run(client.create(endpointSlices, sliceOf(['10.0.0.3'])))
  await settle()
  const third = { servers: ['10.0.0.3:6443'], bootstrapServers: ['10.0.0.1:6443'] }
  assert.deepEqual([lists.slice(initial), await file()], [[both, third], third])
})

test('a file that cannot be written is written later', async t => {
  const { platform, client, run, advance, lists, file } = await start(t)
  const stored = await run(client.find(endpointSlices, metadata))
  const own = lists.length
  await run(platform.files.remove('/var/lib'))
  const changed = sliceOf(['10.0.0.4'])
  await run(
    stored
      ? client.update(endpointSlices, { ...stored, ...changed, metadata: stored.metadata })
      : client.create(endpointSlices, changed),
  )
  await advance(500)
  await assert.rejects(file(), /cannot read/)
  await run(platform.files.makeFolder('/var/lib'))
  await advance(10_000)
  assert.deepEqual((await file()).servers, ['10.0.0.4:6443'])
  assert.equal(lists.length, own + 1)
})
