/**
 * The cluster DNS: answers names of services and pods from the API's current state, and forwards all other
 * names to the machine's name servers. It listens on UDP and TCP and treats all queries as untrusted: limits
 * keep one client from affecting the others. All lookups use indexes.
 */
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { abortable } from '#/base/abort.ts'
import type { Client } from '#/client/client.ts'
import { Informers } from '#/client/informers.ts'
import type { PassLog } from '#/client/pass-log.ts'
import { addProcessMetrics } from '#/platform/process-metrics.ts'
import { PlainHttpServer, type PlainRequest, type PlainResponse } from '#/platform/plain-http.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { DatagramSocket, Listener, Platform, SocketAddress } from '#/platform/platform.ts'
import { defaultDnsConfiguration, type DnsConfiguration } from './dns-configuration.ts'
import {
  emptyResponse,
  formErrResponse,
  isPlausibleQuery,
  parseDnsMessage,
  plainUdpBytesMax,
  responseCodes,
  serializeDnsMessage,
  tcpBytesMax,
  type DnsMessage,
} from './dns-message.ts'
import { DnsMetrics, dnsMetricsPort } from './dns-metrics.ts'
import { AnswerCache } from './server/answer-cache.ts'
import { answerQuery, type AnsweredMessage } from './server/answer-query.ts'
import { clusterStateOf, serviceNameLabel, type ClusterState } from './server/cluster-state.ts'
import { ConfigurationSource } from './server/configuration-source.ts'
import { EncodedAnswers } from './server/encoded-answers.ts'
import type { Transport } from './server/exchange.ts'
import { udpBytesMax } from './server/forwarder.ts'
import { NameServer } from './server/name-server.ts'
import { recordPasses } from './server/record-passes.ts'
import { TcpServer } from './server/tcp-server.ts'
import { UpstreamServers, type ResolvConf, type Server } from './server/upstream-servers.ts'
import { WaitingQueries } from './server/waiting-queries.ts'

export interface ClusterDnsOptions {
  readonly platform: Platform
  /** Authenticated as the service account `kube-system/coredns`. */
  readonly client: Client
  /** `cluster.local`. */
  readonly domain: string
  /** Addresses for both UDP and TCP; port 0 selects one free port for both. */
  readonly listen: readonly Server[]
  /** Cluster IPs of the DNS service. */
  readonly nameServers: readonly string[]
  /** Address of the server for metrics, on port 9153; none when absent. */
  readonly metricsAddress?: string
  /** Version of this program. */
  readonly version?: string
  /** Usage of this process. */
  readonly usage?: () => ProcessUsage
  /** Gets a pass of each change that alters answers. */
  readonly passes?: PassLog | undefined
  /** For the passes. */
  readonly nodeName?: string
  /** Upstream for names outside of the cluster domain: a file like `/etc/resolv.conf`, or fixed servers. */
  readonly upstream: ResolvConf | { readonly servers: readonly Server[] }
}

const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'

export class ClusterDns {
  readonly #options: ClusterDnsOptions
  readonly #informers: Informers
  readonly #cluster: ClusterState
  readonly #configurationSource: ConfigurationSource
  readonly #encoded = new EncodedAnswers()
  readonly #cache = new AnswerCache()
  readonly #waiting = new WaitingQueries()
  readonly #machineServers: () => Promise<readonly Server[]>
  readonly metrics: DnsMetrics
  readonly #listening = Promise.withResolvers<readonly Server[]>()
  /** Undefined until the configuration is known. */
  #server: NameServer | undefined
  #version = 0

  constructor(options: ClusterDnsOptions) {
    const { platform, client, listen, upstream } = options
    this.#options = options
    this.#informers = new Informers({ platform, client })
    this.metrics = new DnsMetrics({ listen, version: options.version ?? '' })
    this.metrics.countCached(this.#cache)
    if (options.usage) addProcessMetrics(this.metrics.registry, options.usage)
    this.#cluster = clusterStateOf(this.#informers, () => this.#encoded.clear())
    this.#followProgramming()
    const { passes, nodeName } = options
    const hasSynced = (): boolean => this.#cluster.hasSynced
    const { clock } = platform
    if (passes) recordPasses({ informers: this.#informers, passes, clock, nodeName, hasSynced })
    const file = 'resolvConf' in upstream ? new UpstreamServers(platform, upstream, listen) : undefined
    const fixed = 'servers' in upstream ? upstream.servers : []
    this.#machineServers = () => file?.list() ?? Promise.resolve(fixed)
    this.#configurationSource = new ConfigurationSource({
      platform,
      client,
      defaults: defaultDnsConfiguration(options.domain),
      onConfiguration: configuration => this.#configure(configuration),
      onInvalid: () => this.metrics.reloadFailures.add(),
    })
    // Prevents an unhandled rejection: `run` rejects with the same error.
    this.#listening.promise.catch(() => undefined)
  }

  /** The bound addresses; rejects when binding fails. */
  get boundAddresses(): Promise<readonly Server[]> {
    return this.#listening.promise
  }

  /** True when all informers have synced and the configuration is known. */
  get hasSynced(): boolean {
    return this.#server !== undefined && this.#cluster.hasSynced
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    await abortable(this.#configurationSource.known, signal)
    await this.#informers.waitForSync(signal)
  }

  /** Rejects when an address is in use. */
  async run(signal: AbortSignal): Promise<void> {
    await using open = new AsyncDisposableStack()
    const tcp = new TcpServer(this.#options.platform.clock, (bytes, client) =>
      this.#answer(bytes, { transport: 'tcp', client, signal }),
    )
    open.defer(async () => tcp.closeAll())
    try {
      const bound: Server[] = []
      for (const address of this.#options.listen) bound.push(await this.#bind(address, { open, tcp, signal }))
      this.#listening.resolve(bound)
    } catch (error) {
      this.#listening.reject(error)
      throw error
    }
    await using _ = await this.#serveMetrics()
    await Promise.all([this.#informers.run(signal), this.#configurationSource.run(signal)])
  }

  #configure(configuration: DnsConfiguration): void {
    const { platform, nameServers } = this.#options
    const [cluster, cache, waiting] = [this.#cluster, this.#cache, this.#waiting]
    const { metrics } = this
    cache.clear()
    this.#encoded.clear()
    metrics.showConfiguration(configuration)
    const machineServers = this.#machineServers
    const shared = { platform, nameServers, cluster, cache, waiting, metrics, machineServers }
    this.#server = new NameServer({ ...shared, configuration, version: ++this.#version })
    platform.log.info('Applied the configuration of the cluster DNS', { zones: configuration.servers.length })
  }

  /** DNS works without it, so a port in use is only logged. */
  async #serveMetrics(): Promise<AsyncDisposable | undefined> {
    const { platform, metricsAddress: host } = this.#options
    if (host === undefined) return undefined
    try {
      const answer = (request: PlainRequest): PlainResponse => this.#answerHttp(request)
      return await PlainHttpServer.start({ platform, host, port: dnsMetricsPort, answer })
    } catch (error) {
      platform.log.error('Failed to serve metrics of the cluster DNS', { host, error })
      return undefined
    }
  }

  /**
   * CoreDNS has ports of their own for `/health` and `/ready`; on the node's address those would be taken from pods
   * with host ports.
   */
  #answerHttp({ path, accept }: PlainRequest): PlainResponse {
    const mediaType = 'text/plain; charset=utf-8'
    if (path === '/metrics') return { status: 200, ...this.metrics.registry.expose(accept) }
    if (path === '/health' || (path === '/ready' && this.hasSynced))
      return { status: 200, mediaType, text: 'OK' }
    if (path === '/ready') return { status: 503, mediaType, text: 'kubernetes' }
    return { status: 404, mediaType, text: '404 page not found\n' }
  }

  /** Measures when names of headless services follow a change of their endpoints. */
  #followProgramming(): void {
    const { clock } = this.#options.platform
    const startedMs = clock.now()
    this.#informers.of(endpointSlices).addEventHandler((_key, { newObject }) => {
      const changedMs = Date.parse(newObject?.metadata.annotations?.[triggerTimeAnnotation] ?? '')
      if (newObject === undefined || !(changedMs > startedMs)) return
      const { namespace = '' } = newObject.metadata
      const service = this.#cluster.service(namespace, newObject.metadata.labels?.[serviceNameLabel] ?? '')
      const { clusterIP, selector = {} } = service?.spec ?? {}
      if (clusterIP !== 'None' || Object.keys(selector).length === 0) return
      this.metrics.programmingDuration.observe(Math.max(0, clock.now() - changedMs) / 1_000)
    })
  }

  async #bind(
    { host, port }: Server,
    {
      open,
      tcp,
      signal,
    }: { readonly open: AsyncDisposableStack; readonly tcp: TcpServer; readonly signal: AbortSignal },
  ): Promise<Server> {
    const { network } = this.#options.platform
    try {
      const listener = open.use(await network.listen({ host, port }, tcp.accept.bind(tcp)))
      const bound = { host, port: portOf(listener) }
      const socket: DatagramSocket = open.use(
        await network.bindDatagram(bound, (bytes, from) => this.#serve(bytes, { from, socket, signal })),
      )
      return bound
    } catch (cause) {
      throw new Error(`cannot listen for DNS queries on ${host} port ${port}`, { cause })
    }
  }

  #serve(bytes: Uint8Array, { from, socket, signal }: Datagram): void {
    const { random, clock } = this.#options.platform
    const beganMs = clock.monotonicMs()
    const known = this.#encoded.get(bytes, beganMs, random)
    if (known !== undefined) {
      socket.send(known.bytes, from)
      const seconds = (clock.monotonicMs() - beganMs) / 1_000
      known.series.add({ seconds, requestBytes: bytes.length, responseBytes: known.bytes.length })
      return
    }
    const client = 'host' in from ? from.host : ''
    void this.#answer(bytes, { transport: 'udp', client, signal }).then(answer => {
      if (answer !== undefined && !signal.aborted) socket.send(answer, from)
    })
  }

  /** Never rejects. */
  async #answer(bytes: Uint8Array, { transport, client, signal }: Asked): Promise<Uint8Array | undefined> {
    const { platform } = this.#options
    const { clock } = platform
    const beganMs = clock.monotonicMs()
    const query = isPlausibleQuery(bytes) ? parseDnsMessage(bytes) : undefined
    if (query === undefined) return formErrResponse(bytes)
    const bytesMax = transport === 'tcp' ? tcpBytesMax : udpLimitOf(query)
    const { generation } = this.#encoded
    const answered = await this.#tryAnswer(query, { transport, client, signal, server: this.#server })
    if (answered === undefined) return undefined
    const { message, plugin, zone, reuse } = answered
    const response = serializeDnsMessage(message, bytesMax)
    const nowMs = clock.monotonicMs()
    const series = this.metrics.seriesOf({
      type: query.questions[0]?.type,
      dnssecOk: query.edns?.dnssecOk ?? false,
      responseCode: message.responseCode,
      transport,
      plugin,
      zone,
    })
    series.add({
      seconds: (nowMs - beganMs) / 1_000,
      requestBytes: bytes.length,
      responseBytes: response.length,
    })
    // Otherwise the state has changed since it was read.
    const isCurrent = this.#encoded.generation === generation
    if (transport === 'udp' && reuse && isCurrent) {
      const onUse = (): void => {
        this.metrics.cacheRequests.add()
        this.metrics.countHit(message)
      }
      const counted = reuse.freshUntilMs !== undefined && { onUse }
      this.#encoded.set(bytes, { bytes: response, series, message, nowMs, ...reuse, ...counted })
    }
    return response
  }

  async #tryAnswer(
    query: DnsMessage,
    asked: Asked & { readonly server: NameServer | undefined },
  ): Promise<AnsweredMessage | undefined> {
    const { platform } = this.#options
    try {
      return await answerQuery(query, { ...asked, platform })
    } catch (error) {
      this.metrics.panics.add()
      platform.log.error('Failed to answer DNS query', { error })
      const { id, opcode, questions } = query
      const message = { ...emptyResponse, id, opcode, questions, responseCode: responseCodes.servFail }
      return { message, plugin: '', zone: '.' }
    }
  }
}

interface Datagram {
  readonly from: SocketAddress
  readonly socket: DatagramSocket
  readonly signal: AbortSignal
}

interface Asked {
  readonly transport: Transport
  /** Address of the client. */
  readonly client: string
  readonly signal: AbortSignal
}

function udpLimitOf({ edns }: DnsMessage): number {
  return edns ? Math.min(udpBytesMax, Math.max(plainUdpBytesMax, edns.udpBytesMax)) : plainUdpBytesMax
}

function portOf({ address }: Listener): number {
  return 'port' in address ? address.port : 0
}
