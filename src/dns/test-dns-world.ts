/** A DNS server in a simulated network, with an API server whose connection can be cut, and scripted upstreams. */
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { abortableEach } from '#/base/abort.ts'
import type { Client, WatchOptions } from '#/client/client.ts'
import { PassLog } from '#/client/pass-log.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { dnsServer, userOf } from '#/kubeadm/identities.ts'
import { formatIp } from '#/api/net/ip.ts'
import { ClusterDns } from './dns.ts'
import {
  emptyResponse,
  parseDnsMessage,
  recordTypes,
  serializeDnsMessage,
  tcpBytesMax,
  type DnsMessage,
  type ResourceRecord,
} from './dns-message.ts'
import { dnsConfigMap, ensureDnsRbac } from './ensure-dns.ts'
import { addressRecord, soaRecord } from './records/make-records.ts'
import { framed, FrameReader } from './server/tcp-frames.ts'

/** The simulated host of the control plane. */
const host = 'control-plane'

export interface DnsWorld extends TestControlPlane {
  readonly dns: ClusterDns
  readonly passLog: PassLog
  /** The IP address of the host, for upstream servers. */
  readonly address: string
  /** Asks over UDP; undefined without an answer after ten seconds. */
  readonly query: (name: string, more?: Partial<DnsMessage>) => Promise<DnsMessage | undefined>
  /** The answer in short: see `describeAnswer`. */
  readonly ask: (name: string, type?: keyof typeof recordTypes) => Promise<string>
  readonly get: (path: string) => Promise<string>
  /** Starts a name server on UDP and TCP; returns the questions that it gets, as `udp name`. */
  readonly addUpstream: (port: number, say: Say) => Promise<string[]>
  readonly setCorefile: (text: string) => Promise<void>
  /** Cuts the connection of the DNS server to the API server, until `heal`. */
  readonly cut: () => void
  readonly heal: () => void
}

/** The response of an upstream server; undefined for none. */
export type Say = (query: DnsMessage, transport: 'udp' | 'tcp') => Said | Promise<Said>

type Said = Partial<DnsMessage> | undefined

export interface DnsWorldOptions {
  readonly corefile?: string
  readonly isCut?: boolean
}

export async function startDnsWorld(t: TestContext, options: DnsWorldOptions = {}): Promise<DnsWorld> {
  const plane = await startTestControlPlane(t, [])
  const { run, client, platform } = plane
  await run(ensureDnsRbac(client))
  const address = await addressOf(plane)
  const setCorefile = async (corefile: string): Promise<void> => {
    const wanted = { metadata: dnsConfigMap, data: { Corefile: corefile } }
    const known = await run(client.find(configMaps, dnsConfigMap))
    await run(known ? client.update(configMaps, wanted) : client.create(configMaps, wanted))
    await plane.settle()
  }
  if (options.corefile !== undefined) await setCorefile(options.corefile)
  const { username, groups } = userOf(dnsServer)
  const connection = new Connection()
  if (options.isCut) connection.cut()
  const passLog = new PassLog()
  const dns = new ClusterDns({
    passes: passLog,
    nodeName: 'n1',
    platform,
    client: connection.wrap(plane.clientAs(username, groups)),
    domain: 'cluster.local',
    listen: [{ host, port: 53 }],
    nameServers: ['10.96.0.10'],
    upstream: { servers: [{ host: address, port: 54 }] },
    metricsAddress: host,
    version: 'v1',
  })
  const stopping = new AbortController()
  const running = dns.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await run(running)
  })
  await run(dns.boundAddresses)
  await plane.settle()
  const query: DnsWorld['query'] = (name, more) => askUdp(plane, name, more)
  return {
    ...plane,
    dns,
    passLog,
    address,
    query,
    ask: async (name: string, type: keyof typeof recordTypes = 'A') => {
      const questions = [{ name, type: recordTypes[type], class: 1 }]
      return describeAnswer(await query(name, { questions }))
    },
    get: (path: string) => getHttp(plane, path),
    addUpstream: (port: number, say: Say) => addUpstream(plane, port, say),
    setCorefile,
    cut: () => connection.cut(),
    heal: () => connection.heal(),
  }
}

const noAnswerMs = 10_000

async function askUdp(
  { run, platform: { network, clock } }: TestControlPlane,
  name: string,
  more: Partial<DnsMessage> = {},
): Promise<DnsMessage | undefined> {
  const { promise, resolve } = Promise.withResolvers<DnsMessage | undefined>()
  const socket = await run(network.bindDatagram({ host, port: 0 }, bytes => resolve(parseDnsMessage(bytes))))
  const questions = [{ name, type: recordTypes.A as number, class: 1 }]
  const asked = { ...emptyResponse, isResponse: false, id: 7, recursionDesired: true, questions, ...more }
  socket.send(serializeDnsMessage(asked, tcpBytesMax), { host, port: 53 })
  const timer = clock.setTimer(noAnswerMs, () => resolve(undefined))
  const answer = await run(promise)
  timer.cancel()
  await run(Promise.resolve(socket[Symbol.asyncDispose]()))
  return answer
}

async function addUpstream(plane: TestControlPlane, port: number, say: Say): Promise<string[]> {
  const { run, platform } = plane
  const asked: string[] = []
  const answer = async (bytes: Uint8Array, transport: 'udp' | 'tcp'): Promise<Uint8Array | undefined> => {
    const query = parseDnsMessage(bytes)!
    asked.push(`${transport} ${query.questions[0]!.name}`)
    const said = await say(query, transport)
    if (said === undefined) return undefined
    const { id, questions, edns } = query
    const message = { ...emptyResponse, id, questions, ...(edns && { edns }), ...said }
    return serializeDnsMessage(message, transport === 'tcp' ? tcpBytesMax : 512)
  }
  const socket = await run(
    platform.network.bindDatagram({ host, port }, (bytes, from) => {
      void answer(bytes, 'udp').then(message => message && socket.send(message, from))
    }),
  )
  await run(
    platform.network.listen({ host, port }, connection => {
      const frames = new FrameReader()
      connection.on('data', (bytes: Uint8Array) => {
        for (const frame of frames.push(bytes)) {
          void answer(frame, 'tcp').then(message => message && connection.write(framed(message)))
        }
      })
      connection.on('end', () => connection.end())
    }),
  )
  return asked
}

async function getHttp({ run, platform }: TestControlPlane, path: string): Promise<string> {
  const connection = await run(platform.network.connect({ host, port: 9_153 }))
  connection.write(`GET ${path} HTTP/1.1\r\n\r\n`)
  const answer = await run(text(connection))
  return answer.slice(answer.indexOf('\r\n\r\n') + 4)
}

/** The connection to the API server. */
class Connection {
  #broken = new AbortController()

  cut(): void {
    this.#broken.abort(new Error('the API server is unreachable'))
  }

  heal(): void {
    this.#broken = new AbortController()
  }

  /** Requests fail while it is cut, and watches that run end. */
  wrap(client: Client): Client {
    return new Proxy(client, {
      get: (target, name: keyof Client) => {
        const { signal } = this.#broken
        signal.throwIfAborted()
        if (name !== 'watchBatches') return target[name].bind(target)
        return <T extends KubernetesObject>(resource: Resource<T>, options?: WatchOptions) =>
          abortableEach(target.watchBatches(resource, options), signal)
      },
    })
  }
}

/** An upstream's response to an A query. */
export function addressAnswer(query: DnsMessage, address: string, ttlSeconds = 60): Partial<DnsMessage> {
  return { answers: [addressRecord(query.questions[0]!.name, address, ttlSeconds)] }
}

/** An upstream's NXDOMAIN. */
export function denial(ttlSeconds: number): Partial<DnsMessage> {
  return { responseCode: 3, authorities: [soaRecord('test', 'test', ttlSeconds)] }
}

/** `NXDOMAIN 5` with the TTL of the SOA record, `SERVFAIL`, or `192.0.2.1 30, 192.0.2.2 30`. */
function describeAnswer(message: DnsMessage | undefined): string {
  if (message === undefined) return 'none'
  const { responseCode, answers, authorities } = message
  const [soa] = authorities
  const names = ['', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED']
  if (responseCode !== 0) return `${names[responseCode]}${soa ? ` ${soa.ttlSeconds}` : ''}`
  return answers.map(describeRecord).join(', ') || `NODATA${soa ? ` ${soa.ttlSeconds}` : ''}`
}

function describeRecord({ type, data: [first = ''], ttlSeconds }: ResourceRecord): string {
  if (typeof first === 'string') return `${first} ${ttlSeconds}`
  const value = BigInt(`0x${Buffer.from(first).toString('hex') || '0'}`)
  if (type === recordTypes.A) return `${formatIp({ family: 4, value })} ${ttlSeconds}`
  if (type === recordTypes.AAAA) return `${formatIp({ family: 6, value })} ${ttlSeconds}`
  return `type ${type} ${ttlSeconds}`
}

async function addressOf({ run, platform: { network } }: TestControlPlane): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = await run(
    network.bindDatagram({ host, port: 1 }, (_bytes, from) => resolve('host' in from ? from.host : '')),
  )
  socket.send(new Uint8Array(1), { host, port: 1 })
  const address = await run(promise)
  await run(Promise.resolve(socket[Symbol.asyncDispose]()))
  return address
}
