import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import test, { type TestContext } from 'node:test'
import { services } from '#/api/generated/core/v1-resources.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { ClusterDns } from './dns.ts'
import {
  emptyResponse,
  recordTypes,
  serializeDnsMessage,
  parseDnsMessage,
  tcpBytesMax,
} from './dns-message.ts'

/** The simulated host of the control plane. */
const host = 'control-plane'

interface World extends TestControlPlane {
  /** The response code of a query over UDP. */
  readonly ask: (name: string, type?: number) => Promise<number | undefined>
  readonly get: (path: string) => Promise<string>
}

async function start(t: TestContext): Promise<World> {
  const plane = await startTestControlPlane(t, [])
  const { network } = plane.platform
  const dns = new ClusterDns({
    platform: plane.platform,
    client: plane.client,
    domain: 'cluster.local',
    listen: [{ host, port: 53 }],
    nameServers: ['10.96.0.10'],
    upstream: { servers: [{ host, port: 54 }] },
    metricsAddress: host,
    version: 'v1',
  })
  const stopping = new AbortController()
  const running = dns.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await plane.run(running)
  })
  await plane.run(dns.boundAddresses)
  await plane.settle()
  const ask = async (name: string, type: number = recordTypes.A): Promise<number | undefined> => {
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    const socket = await plane.run(
      network.bindDatagram({ host, port: 0 }, bytes => resolve(parseDnsMessage(bytes)?.responseCode)),
    )
    const query = { ...emptyResponse, isResponse: false, id: 7, questions: [{ name, type, class: 1 }] }
    socket.send(serializeDnsMessage(query, tcpBytesMax), { host, port: 53 })
    await plane.advance(5_000)
    return plane.run(promise)
  }
  const get = async (path: string): Promise<string> => {
    const connection = await plane.run(network.connect({ host, port: 9_153 }))
    connection.write(`GET ${path} HTTP/1.1\r\n\r\n`)
    const answer = await plane.run(text(connection))
    return answer.slice(answer.indexOf('\r\n\r\n') + 4)
  }
  return { ...plane, ask, get }
}

test('queries are counted under the names of CoreDNS', async t => {
  const world = await start(t)
  const { create, ask, get } = world
  await create(services, { metadata: { namespace: 'default', name: 'web' }, spec: { ports: [{ port: 80 }] } })
  assert.equal(await ask('web.default.svc.cluster.local'), 0)
  assert.equal(await ask('none.default.svc.cluster.local', recordTypes.AAAA), 3)
  assert.equal(await ask('example.com', 99), 2, 'no upstream server answers')
  const metrics = await get('/metrics')
  const server = 'server="dns://control-plane:53"'
  const common = `${server},view="",zone="."`
  const asked = (type: string): string =>
    `coredns_dns_requests_total{family="1",proto="udp",${server},type="${type}",view="",zone="."} 1`
  const answered = (plugin: string, rcode: string): string =>
    `coredns_dns_responses_total{plugin="${plugin}",rcode="${rcode}",${common}} 1`
  for (const line of [
    asked('A'),
    asked('AAAA'),
    asked('other'),
    answered('kubernetes', 'NOERROR'),
    answered('kubernetes', 'NXDOMAIN'),
    answered('forward', 'SERVFAIL'),
    `coredns_dns_request_duration_seconds_count{${common}} 3`,
    `coredns_dns_request_size_bytes_count{proto="udp",${common}} 3`,
    `coredns_dns_response_size_bytes_count{proto="udp",${common}} 3`,
    `coredns_cache_misses_total{${server},view="",zones="."} 1`,
    'coredns_forward_requests_total{to="control-plane:54"} 3',
    'coredns_build_info{goversion="",revision="",version="v1"} 1',
    'coredns_panics_total 0',
  ])
    assert.ok(metrics.split('\n').includes(line), `${line}\nis not in\n${metrics}`)
  assert.equal(await get('/ready'), 'OK')
  assert.equal(await get('/health'), 'OK')
})
