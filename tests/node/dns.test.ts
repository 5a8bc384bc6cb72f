import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import type { ServiceSpec } from '#/api/generated/core/v1.ts'
import { serviceAccounts, services } from '#/api/generated/core/v1-resources.ts'
import type { Endpoint } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { ClusterDns, type ClusterDnsOptions } from '#/dns/dns.ts'
import { emptyResponse, parseDnsMessage, serializeDnsMessage, type DnsMessage } from '#/dns/dns-message.ts'
import {
  applyDnsSlice,
  dnsServiceAccount,
  dnsSliceOf,
  ensureDnsRbac,
  ensureDnsService,
} from '#/dns/ensure-dns.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { startTestApiServer, type TestApiServer } from './test-api-server.ts'
import { startTestNameServer } from './test-name-server.ts'
import { waitUntil } from '../wait-until.ts'

interface TestDns {
  readonly api: TestApiServer
  readonly resolver: Resolver
  readonly address: { readonly host: string; readonly port: number }
  readonly service: (name: string, spec: ServiceSpec, endpoints?: readonly Endpoint[]) => Promise<void>
}

const account = `system:serviceaccount:kube-system:${dnsServiceAccount}`

async function startDns(t: TestContext, more: Partial<ClusterDnsOptions> = {}): Promise<TestDns> {
  const api = await startTestApiServer(t)
  await ensureDnsRbac(api.client)
  const dns = new ClusterDns({
    platform: api.platform,
    client: api.clientAs(account, ['system:serviceaccounts', 'system:serviceaccounts:kube-system']),
    domain: 'cluster.local',
    listen: [{ host: '127.0.0.1', port: 0 }],
    nameServers: ['10.96.0.10'],
    upstream: { servers: [] },
    ...more,
  })
  const stopping = new AbortController()
  const running = dns.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await running
  })
  const [address] = await dns.boundAddresses
  await dns.waitForSync(stopping.signal)
  const resolver = new Resolver({ timeout: 20_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${address!.port}`])
  const service = async (
    name: string,
    spec: ServiceSpec,
    endpoints: readonly Endpoint[] = [],
  ): Promise<void> => {
    const metadata = { namespace: 'default', name }
    const ports = [{ name: 'http', port: 80 }]
    await api.client.create(services, {
      metadata,
      spec: { ...(spec.type !== 'ExternalName' && { ports }), ...spec },
    })
    await api.client.create(endpointSlices, {
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints,
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    })
  }
  return { api, resolver, address: address!, service }
}

/** Retries until the change has propagated. */
async function eventually<T>(ask: () => Promise<T>, expected: T): Promise<void> {
  await waitUntil(async () => {
    const answer = await ask().catch((error: NodeJS.ErrnoException) => error.code as T)
    return JSON.stringify(answer) === JSON.stringify(expected)
  })
}

function failsWith(code: string): (error: NodeJS.ErrnoException) => boolean {
  return error => error.code === code
}

function query(name: string, more: Partial<DnsMessage> = {}): DnsMessage {
  const questions = [{ name, type: 1, class: 1 }]
  return {
    ...emptyResponse,
    id: 7,
    isResponse: false,
    recursionAvailable: false,
    recursionDesired: true,
    questions,
    ...more,
  }
}

/** Sends the bytes over UDP and returns the response. */
async function askUdp({ host, port }: TestDns['address'], bytes: Uint8Array): Promise<DnsMessage> {
  const socket = createSocket('udp4')
  try {
    socket.send(bytes, port, host)
    const [answer] = (await once(socket, 'message')) as [Uint8Array]
    return parseDnsMessage(answer)!
  } finally {
    socket.close()
  }
}

const headless = { clusterIP: 'None' }

test('services, endpoints and PTR names resolve and follow the API', async t => {
  const { resolver, service, api } = await startDns(t)
  await service('web', { clusterIP: '10.96.0.20', clusterIPs: ['10.96.0.20'] }, [
    { addresses: ['10.244.0.9'] },
  ])
  await service('db', headless, [
    { addresses: ['10.244.0.5'], hostname: 'db-0' },
    { addresses: ['10.244.0.6'], hostname: 'db-1' },
    { addresses: ['10.244.0.7'], hostname: 'db-2', conditions: { ready: false } },
  ])
  await eventually(() => resolver.resolve4('db-1.db.default.svc.cluster.local'), ['10.244.0.6'])
  assert.deepEqual(await resolver.resolve4('web.default.svc.cluster.local'), ['10.96.0.20'])
  assert.deepEqual(await resolver.resolve4('WEB.default.SVC.cluster.local'), ['10.96.0.20'])
  const all = await resolver.resolve4('db.default.svc.cluster.local', { ttl: true })
  assert.deepEqual(all.map(({ address }) => address).toSorted(), ['10.244.0.5', '10.244.0.6'])
  assert(all.every(({ ttl }) => ttl === 5))
  const offers = await resolver.resolveSrv('_http._tcp.db.default.svc.cluster.local')
  assert.deepEqual(offers.map(({ name, port }) => `${name}:${port}`).toSorted(), [
    'db-0.db.default.svc.cluster.local:8080',
    'db-1.db.default.svc.cluster.local:8080',
  ])
  assert.deepEqual(await resolver.reverse('10.244.0.5'), ['db-0.db.default.svc.cluster.local'])
  assert.deepEqual(await resolver.reverse('10.96.0.20'), ['web.default.svc.cluster.local'])
  assert.deepEqual(await resolver.resolveTxt('dns-version.cluster.local'), [['1.1.0']])
  assert.deepEqual(await resolver.resolve4('10-244-0-99.default.pod.cluster.local'), ['10.244.0.99'])
  await assert.rejects(resolver.resolve6('web.default.svc.cluster.local'), failsWith('ENODATA'))
  await assert.rejects(resolver.resolve4('db-2.db.default.svc.cluster.local'), failsWith('ENOTFOUND'))
  await assert.rejects(
    resolver.resolve4('web.default.svc.cluster.local.default.svc.cluster.local'),
    failsWith('ENOTFOUND'),
  )
  await api.client.delete(services, { namespace: 'default', name: 'web' })
  await eventually(() => resolver.resolve4('web.default.svc.cluster.local'), 'ENOTFOUND' as never)
})

test('responses too large for UDP are served over TCP, with rotated endpoints', async t => {
  const { resolver, service, address } = await startDns(t)
  const addresses = Array.from({ length: 200 }, (_, index) => `10.244.${index >> 7}.${(index & 127) + 1}`)
  await service(
    'many',
    headless,
    addresses.slice(0, 100).map(each => ({ addresses: [each] })),
  )
  const name = 'many.default.svc.cluster.local'
  await eventually(async () => (await resolver.resolve4(name)).length, 100)
  const firsts = new Set<unknown>()
  for (let times = 0; times < 20; times++) firsts.add((await resolver.resolve4(name))[0])
  assert(firsts.size > 3)
  const sizes: number[] = []
  for (const udpBytesMax of [0, 512, 1_232, 65_535]) {
    const edns = { udpBytesMax, version: 0, dnssecOk: false }
    const { isTruncated, answers } = await askUdp(address, serializeDnsMessage(query(name, { edns }), 512))
    assert(isTruncated)
    sizes.push(answers.length)
  }
  assert.deepEqual(sizes, [28, 28, 73, 73])
})

test('external names are forwarded once for concurrent queries and cached', async t => {
  const first = Promise.withResolvers<undefined>()
  const server = await startTestNameServer(t, ({ questions: [question] }) => {
    if (question?.name === 'none.test') return { responseCode: 3 }
    if (question?.name === 'waiting.test') return first.promise
    return { answers: [{ ...question!, ttlSeconds: 60, data: [Buffer.from([192, 0, 2, 1])] }] }
  })
  const { resolver, address } = await startDns(t, { upstream: { servers: [server] } })
  for (let times = 0; times < 3; times++)
    assert.deepEqual(await resolver.resolve4('some.test'), ['192.0.2.1'])
  assert.deepEqual(await resolver.resolve4('SOME.test'), ['192.0.2.1'])
  await assert.rejects(resolver.resolve4('none.test'), failsWith('ENOTFOUND'))
  assert.deepEqual(server.asked, ['udp some.test 1', 'udp none.test 1'])
  const waiting = [1, 2, 3].map(id =>
    askUdp(address, serializeDnsMessage(query('waiting.test', { id }), 512)),
  )
  const codes = (await Promise.all(waiting)).map(({ id, responseCode }) => [id, responseCode])
  assert.deepEqual(codes, [
    [1, 2],
    [2, 2],
    [3, 2],
  ])
  // One query per attempt.
  assert.deepEqual(server.asked.slice(2), Array<string>(3).fill('udp waiting.test 1'))
})

test('an upstream server that is silent, refuses or sends forged responses is skipped', async t => {
  const silent = await startTestNameServer(t, () => undefined)
  const refusing = await startTestNameServer(t, () => ({ responseCode: 5 }))
  const lying = await startTestNameServer(t, ({ id, questions: [question] }) => ({
    id: id ^ 1,
    answers: [{ ...question!, ttlSeconds: 60, data: [Buffer.from([192, 0, 2, 66])] }],
  }))
  const good = await startTestNameServer(t, ({ questions: [question] }) => {
    return { answers: [{ ...question!, ttlSeconds: 0, data: [Buffer.from([192, 0, 2, 1])] }] }
  })
  for (const bad of [silent, refusing, lying]) {
    const { resolver } = await startDns(t, { upstream: { servers: [bad, good] } })
    assert.deepEqual(await resolver.resolve4('some.test'), ['192.0.2.1'])
    assert.deepEqual(await resolver.resolve4('some.test'), ['192.0.2.1'])
    // The failing server is no longer tried first.
    assert.equal(bad.asked.length, 1)
  }
  const { resolver } = await startDns(t, { upstream: { servers: [refusing] } })
  await assert.rejects(resolver.resolve4('some.test'), failsWith('EREFUSED'))
})

test('a truncated upstream response is retried over TCP', async t => {
  const server = await startTestNameServer(t, ({ questions: [question] }) => {
    const data = (index: number): readonly Uint8Array[] => [Buffer.from([192, 0, 2, index])]
    return {
      answers: Array.from({ length: 100 }, (_, index) => ({
        ...question!,
        ttlSeconds: 60,
        data: data(index),
      })),
    }
  })
  const { resolver } = await startDns(t, { upstream: { servers: [server] } })
  assert.equal((await resolver.resolve4('many.test')).length, 100)
  assert.deepEqual(server.asked, ['udp many.test 1', 'tcp many.test 1'])
})

test('CNAMEs are followed inside and outside of the cluster domain, but not in loops', async t => {
  const server = await startTestNameServer(t, ({ questions: [question] }) => {
    return { answers: [{ ...question!, ttlSeconds: 60, data: [Buffer.from([192, 0, 2, 1])] }] }
  })
  const { resolver, service, address } = await startDns(t, { upstream: { servers: [server] } })
  const alias = (externalName: string): ServiceSpec => ({ type: 'ExternalName', externalName })
  await service('out', alias('shop.test'))
  await service('in', alias('web.default.svc.cluster.local'))
  await service('gone', alias('nobody.default.svc.cluster.local'))
  await service('round', alias('about.default.svc.cluster.local'))
  await service('about', alias('round.default.svc.cluster.local'))
  await service('web', { clusterIP: '10.96.0.20', clusterIPs: ['10.96.0.20'] })
  await eventually(() => resolver.resolve4('web.default.svc.cluster.local'), ['10.96.0.20'])
  assert.deepEqual(await resolver.resolve4('out.default.svc.cluster.local'), ['192.0.2.1'])
  assert.deepEqual(await resolver.resolveCname('out.default.svc.cluster.local'), ['shop.test'])
  assert.deepEqual(await resolver.resolve4('in.default.svc.cluster.local'), ['10.96.0.20'])
  await assert.rejects(resolver.resolve4('gone.default.svc.cluster.local'), failsWith('ENOTFOUND'))
  const { responseCode } = await askUdp(
    address,
    serializeDnsMessage(query('round.default.svc.cluster.local'), 512),
  )
  assert.equal(responseCode, 2)
})

test('without upstream servers only names of the cluster resolve', async t => {
  const resolvConf = join(await temporaryFolder(t), 'resolv.conf')
  const { resolver } = await startDns(t, { upstream: { resolvConf } })
  await assert.rejects(resolver.resolve4('some.test'), failsWith('ESERVFAIL'))
  assert.deepEqual(await resolver.resolveTxt('dns-version.cluster.local'), [['1.1.0']])
})

test('a forwarding loop ends', async t => {
  const servers: { host: string; port: number }[] = []
  const { address } = await startDns(t, { upstream: { servers } })
  servers.push(address)
  const { responseCode } = await askUdp(address, serializeDnsMessage(query('loop.test'), 512))
  assert.equal(responseCode, 2)
})

test('unsupported DNS queries get their response codes', async t => {
  const { address, service, resolver } = await startDns(t)
  await service('web', { clusterIP: '10.96.0.20', clusterIPs: ['10.96.0.20'] })
  await eventually(() => resolver.resolve4('web.default.svc.cluster.local'), ['10.96.0.20'])
  const web = { name: 'web.default.svc.cluster.local', type: 1, class: 1 }
  const cases: readonly (readonly [more: Partial<DnsMessage>, responseCode: number])[] = [
    [{ opcode: 4 }, 4],
    [{ questions: [] }, 1],
    [{ questions: [web, web] }, 1],
    [{ questions: [{ ...web, class: 3 }] }, 5],
    [{ questions: [{ ...web, type: 252 }] }, 5],
    [{ edns: { udpBytesMax: 1_232, version: 1, dnssecOk: false } }, 16],
    [{ questions: [web] }, 0],
  ]
  for (const [more, responseCode] of cases) {
    const answer = await askUdp(address, serializeDnsMessage(query('x.test', more), 512))
    assert.deepEqual(
      [answer.id, answer.isResponse, answer.responseCode],
      [7, true, responseCode],
      JSON.stringify(more),
    )
  }
  const malformed = serializeDnsMessage(query('x.test'), 512).slice(0, 20)
  assert.equal((await askUdp(address, malformed)).responseCode, 1)
})

test('malformed packets do not affect other clients', async t => {
  const { address, resolver, service } = await startDns(t)
  await service('web', { clusterIP: '10.96.0.20', clusterIPs: ['10.96.0.20'] })
  const name = 'web.default.svc.cluster.local'
  await eventually(() => resolver.resolve4(name), ['10.96.0.20'])
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  const question = serializeDnsMessage(query(name), 512)
  for (let times = 0; times < 500; times++) {
    const changed = Uint8Array.from(question)
    changed[times % changed.length] = times & 255
    socket.send(times % 2 ? changed : randomBytes(times), address.port, address.host)
  }
  const connections: Socket[] = []
  t.after(() => connections.forEach(connection => connection.destroy()))
  for (let times = 0; times < 100; times++) {
    const connection = createConnection(address.port, address.host).on('error', () => undefined)
    connections.push(connection)
    await once(connection, 'connect')
    connection.write(times % 2 ? randomBytes(1 + times * 10) : Buffer.from([255, 255]))
  }
  assert.deepEqual(await resolver.resolve4(name), ['10.96.0.20'])
})

test('a TCP connection serves several queries, in pieces, and after a half-close', async t => {
  const { address, resolver, service } = await startDns(t)
  await service('web', { clusterIP: '10.96.0.20', clusterIPs: ['10.96.0.20'] })
  const name = 'web.default.svc.cluster.local'
  await eventually(() => resolver.resolve4(name), ['10.96.0.20'])
  const connection = createConnection({ ...address, allowHalfOpen: true })
  const received: Uint8Array[] = []
  connection.on('data', bytes => received.push(Buffer.from(bytes)))
  const frames = [1, 2, 3].map(id => {
    const message = serializeDnsMessage(query(name, { id }), 512)
    return Buffer.concat([Buffer.from([0, message.length]), message])
  })
  const all = Buffer.concat(frames)
  for (const byte of all.subarray(0, 40)) connection.write(Buffer.from([byte]))
  connection.end(all.subarray(40))
  await once(connection, 'end')
  let rest = Buffer.concat(received)
  const ids: unknown[] = []
  while (rest.length > 0) {
    const length = rest.readUInt16BE()
    ids.push(parseDnsMessage(rest.subarray(2, length + 2))?.id)
    rest = rest.subarray(length + 2)
  }
  assert.deepEqual(new Set(ids), new Set([1, 2, 3]))
})

test('names of the cluster fail until the informers have synced', async t => {
  const api = await startTestApiServer(t)
  const dns = new ClusterDns({
    platform: api.platform,
    // Without RBAC rights the informers never sync.
    client: api.clientAs('nobody'),
    domain: 'cluster.local',
    listen: [{ host: '127.0.0.1', port: 0 }],
    nameServers: [],
    upstream: { servers: [] },
  })
  const stopping = new AbortController()
  const running = dns.run(stopping.signal)
  const [address] = await dns.boundAddresses
  for (const name of ['kubernetes.default.svc.cluster.local', '1.0.96.10.in-addr.arpa']) {
    assert.equal((await askUdp(address!, serializeDnsMessage(query(name), 512))).responseCode, 2)
  }
  stopping.abort()
  await running
})

test('listening on an address in use fails and names the address', async t => {
  const { address, api } = await startDns(t)
  const dns = new ClusterDns({
    platform: api.platform,
    client: api.client,
    domain: 'cluster.local',
    listen: [address],
    nameServers: [],
    upstream: { servers: [] },
  })
  const why = new RegExp(`cannot listen for DNS queries on 127.0.0.1 port ${address.port}`)
  await assert.rejects(dns.run(new AbortController().signal), why)
  await assert.rejects(dns.boundAddresses, why)
})

test('the kube-dns service is created once, follows its address, and a foreign one is left unchanged', async t => {
  const { client } = await startTestApiServer(t)
  const at = { namespace: 'kube-system', name: 'kube-dns' }
  const publish = async (address: string, port: number): Promise<void> => {
    const service = await ensureDnsService(client, '10.96.0.10')
    assert(service)
    await applyDnsSlice(client, dnsSliceOf(service, { name: at.name, address, port, nodeName: 'n1' }))
    await ensureDnsRbac(client)
  }
  for (let times = 0; times < 2; times++) await publish('10.214.0.1', 53)
  const service = await client.get(services, at)
  assert.deepEqual(
    [service.spec?.clusterIP, service.metadata.labels?.['k8s-app']],
    ['10.96.0.10', 'kube-dns'],
  )
  await publish('10.214.0.7', 1053)
  const { endpoints, ports } = await client.get(endpointSlices, at)
  assert.deepEqual(
    endpoints?.map(({ addresses }) => addresses),
    [['10.214.0.7']],
  )
  assert.deepEqual(
    ports?.map(({ name, port, protocol }) => [name, port, protocol]),
    [
      ['dns', 1053, 'UDP'],
      ['dns-tcp', 1053, 'TCP'],
      ['metrics', 9153, 'TCP'],
    ],
  )
  await assert.rejects(ensureDnsService(client, '10.96.0.11'), /has cluster IP 10.96.0.10/)
  await client.update(services, { ...service, spec: { ...service.spec, selector: { app: 'mine' } } })
  assert.equal(await ensureDnsService(client, '10.96.0.10'), undefined)
  assert(await client.find(serviceAccounts, { namespace: 'kube-system', name: dnsServiceAccount }))
})
