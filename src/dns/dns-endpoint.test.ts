import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { dnsServer, userOf } from '#/kubeadm/identities.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { DnsEndpoint } from './dns-endpoint.ts'
import { ExpiredDnsEndpoints } from './expired-endpoints.ts'
import { dnsService, ensureDnsEndpointRole, ensureDnsRbac, ensureDnsService } from './ensure-dns.ts'

const { namespace } = dnsService

interface World extends TestControlPlane {
  /** Starts the DNS server of a node, with the rights of `kube-system/coredns`. */
  readonly start: (nodeName: string, address: string) => Server
  /** Requests of the DNS servers, such as `update`. */
  readonly requests: string[]
  /** Addresses of the endpoints of the service. */
  readonly endpoints: () => Promise<readonly string[]>
}

interface Server {
  /** As SIGTERM. */
  readonly stop: () => Promise<void>
  /** As SIGKILL, or a machine that is cut off: it can send no further request. */
  readonly kill: () => Promise<void>
}

async function startWorld(t: TestContext): Promise<World> {
  const plane = await startTestControlPlane(t, [])
  const { client, platform, run } = plane
  await run(ensureDnsRbac(client))
  await run(ensureDnsEndpointRole(client))
  const { username, groups } = userOf(dnsServer)
  const requests: string[] = []
  const start = (nodeName: string, address: string): Server => {
    const stopping = new AbortController()
    let isCut = false
    const own = observed(plane.clientAs(username, groups), { requests, isCut: () => isCut })
    const endpoint = new DnsEndpoint({ platform, client: own, nodeName, address, port: 53 })
    const running = endpoint.run(stopping.signal)
    const stop = async (): Promise<void> => {
      stopping.abort()
      await run(running)
    }
    const kill = (): Promise<void> => {
      isCut = true
      return stop()
    }
    t.after(stop)
    return { stop, kill }
  }
  const endpoints = async (): Promise<readonly string[]> => {
    const slices = await plane.list(endpointSlices, namespace)
    return slices.flatMap(slice => (slice.endpoints ?? []).flatMap(({ addresses }) => addresses)).toSorted()
  }
  return { ...plane, start, requests, endpoints }
}

interface Observed {
  readonly requests: string[]
  readonly isCut: () => boolean
}

function observed(client: Client, { requests, isCut }: Observed): Client {
  return new Proxy(client, {
    get: (target, name: keyof Client) => {
      if (isCut()) throw new Error('the API server is unreachable')
      requests.push(name)
      return target[name].bind(target)
    },
  })
}

test('each DNS server is an endpoint; one that stops leaves, and one that is killed is removed', async t => {
  const world = await startWorld(t)
  const first = world.start('n1', '192.0.2.1')
  await world.advance(5_000)
  assert.deepEqual(await world.endpoints(), [], 'without the service there are no endpoints')
  await world.run(ensureDnsService(world.client, '10.96.0.10'))
  const second = world.start('n2', '192.0.2.2')
  world.start('n3', '192.0.2.3')
  await world.advance(2_000)
  assert.deepEqual(await world.endpoints(), ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
  await second.stop()
  assert.deepEqual(await world.endpoints(), ['192.0.2.1', '192.0.2.3'])
  await world.advance(8_000)
  await first.kill()
  await world.advance(10_000)
  assert.deepEqual(await world.endpoints(), ['192.0.2.1', '192.0.2.3'], 'its lease has not expired yet')
  await world.advance(15_000)
  assert.deepEqual(await world.endpoints(), ['192.0.2.3'])
  const names = (await world.list(leases, namespace)).map(({ metadata }) => metadata.name)
  assert.deepEqual(names, ['kube-dns-n3'])
  world.start('n1', '192.0.2.1')
  await world.advance(2_000)
  assert.deepEqual(await world.endpoints(), ['192.0.2.1', '192.0.2.3'])
})

test('a deleted slice and a recreated service are repaired, and a changed address is published', async t => {
  const world = await startWorld(t)
  const { client } = world
  await world.run(ensureDnsService(client, '10.96.0.10'))
  const server = world.start('n1', '192.0.2.1')
  await world.advance(2_000)
  const at = { namespace, name: 'kube-dns-n1' }
  await world.run(client.delete(endpointSlices, at))
  await world.advance(5_000)
  assert.deepEqual(await world.endpoints(), ['192.0.2.1'])
  await world.run(client.delete(services, dnsService))
  await world.run(ensureDnsService(client, '10.96.0.10'))
  await world.advance(5_000)
  const service = await world.run(client.get(services, dnsService))
  const slice = await world.run(client.get(endpointSlices, at))
  assert.equal(slice.metadata.ownerReferences?.[0]?.uid, service.metadata.uid)
  await server.kill()
  world.start('n1', '2001:db8::1')
  await world.advance(2_000)
  assert.deepEqual(await world.endpoints(), ['2001:db8::1'])
})

test('a service whose endpoints are pods is left alone', async t => {
  const world = await startWorld(t)
  const service = await world.run(ensureDnsService(world.client, '10.96.0.10'))
  const spec = { ...service?.spec, selector: { 'k8s-app': 'kube-dns' } }
  await world.run(world.client.update(services, { ...service!, spec }))
  world.start('n1', '192.0.2.1')
  await world.advance(10_000)
  assert.deepEqual(await world.endpoints(), [])
  assert.deepEqual(await world.list(leases, namespace), [])
})

test('an idle DNS server only renews its lease', async t => {
  const world = await startWorld(t)
  await world.run(ensureDnsService(world.client, '10.96.0.10'))
  world.start('n1', '192.0.2.1')
  world.start('n2', '192.0.2.2')
  await world.advance(10_000)
  world.requests.length = 0
  await world.advance(40_000)
  assert.deepEqual(new Set(world.requests), new Set(['update']))
  assert.equal(world.requests.length, 20)
})

test('a server that publishes nothing itself removes those whose leases have expired', async t => {
  const world = await startWorld(t)
  const { client, platform } = world
  await world.run(ensureDnsService(client, '10.96.0.10'))
  const stopping = new AbortController()
  const running = new ExpiredDnsEndpoints({ client, platform }).run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await world.run(running)
  })
  const server = world.start('n2', '192.0.2.2')
  await world.advance(30_000)
  assert.deepEqual(await world.endpoints(), ['192.0.2.2'])
  await server.kill()
  await world.advance(20_000)
  assert.deepEqual(await world.endpoints(), [])
  assert.deepEqual(await world.list(leases, namespace), [])
})
