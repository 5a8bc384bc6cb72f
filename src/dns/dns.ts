/**
 * The cluster DNS: answers names of services and pods from the API's current state, and forwards all other
 * names to the machine's name servers. It listens on UDP and TCP and treats all queries as untrusted: limits
 * keep one client from affecting the others. All lookups use indexes.
 */
import { namespaces, services } from '#/api/generated/core/v1-resources.ts'
import type { Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { formatIp, parseIpLeniently } from '#/api/net/ip.ts'
import type { Client } from '#/client/client.ts'
import { Informers } from '#/client/informers.ts'
import { addProcessMetrics } from '#/platform/process-metrics.ts'
import { PlainHttpServer, type PlainRequest, type PlainResponse } from '#/platform/plain-http.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { DatagramSocket, Listener, Platform, SocketAddress } from '#/platform/platform.ts'
import {
  formErrResponse,
  parseDnsMessage,
  plainUdpBytesMax,
  responseCodes,
  serializeDnsMessage,
  tcpBytesMax,
  type DnsMessage,
} from './dns-message.ts'
import { DnsMetrics, dnsMetricsPort, type AnsweredQuery } from './dns-metrics.ts'
import { answerQuery } from './server/answer-query.ts'
import type { Transport } from './server/exchange.ts'
import { Forwarder, udpBytesMax } from './server/forwarder.ts'
import { TcpServer } from './server/tcp-server.ts'
import { UpstreamServers, type ResolvConf, type Server } from './server/upstream-servers.ts'
import type { DnsState } from './records.ts'

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
  /** Upstream for names outside of the cluster domain: a file like `/etc/resolv.conf`, or fixed servers. */
  readonly upstream: ResolvConf | { readonly servers: readonly Server[] }
}

/**
 * The default TTL of CoreDNS' kubernetes plugin; `negativeTtlSeconds` is that of its cache for negative
 * answers.
 */
const ttlSeconds = 5
const negativeTtlSeconds = 30

const serviceNameLabel = 'kubernetes.io/service-name'
const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'

export class ClusterDns {
  readonly #options: ClusterDnsOptions
  readonly #informers: Informers
  readonly #state: DnsState
  readonly #forwarder: Forwarder
  readonly metrics: DnsMetrics
  readonly #listening = Promise.withResolvers<readonly Server[]>()

  constructor(options: ClusterDnsOptions) {
    const { platform, client, listen, upstream } = options
    this.#options = options
    this.#informers = new Informers({ platform, client })
    this.metrics = new DnsMetrics({ listen, version: options.version ?? '' })
    if (options.usage) addProcessMetrics(this.metrics.registry, options.usage)
    this.#state = dnsStateOf(this.#informers, options)
    this.#followProgramming()
    const file = 'resolvConf' in upstream ? new UpstreamServers(platform, upstream, listen) : undefined
    const fixed = 'servers' in upstream ? upstream.servers : []
    this.#forwarder = new Forwarder({
      platform,
      metrics: this.metrics,
      servers: () => file?.list() ?? Promise.resolve(fixed),
    })
    // Prevents an unhandled rejection: `run` rejects with the same error.
    this.#listening.promise.catch(() => undefined)
  }

  /** The bound addresses; rejects when binding fails. */
  get boundAddresses(): Promise<readonly Server[]> {
    return this.#listening.promise
  }

  /** True when all informers have synced. */
  get hasSynced(): boolean {
    return this.#informers.all().every(informer => informer.hasSynced)
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    await this.#informers.waitForSync(signal)
  }

  /** Rejects when an address is in use. */
  async run(signal: AbortSignal): Promise<void> {
    await using open = new AsyncDisposableStack()
    const tcp = new TcpServer(this.#options.platform.clock, bytes => this.#answer(bytes, 'tcp', signal))
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
    await this.#informers.run(signal)
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
      const service = this.#state.service(namespace, newObject.metadata.labels?.[serviceNameLabel] ?? '')
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
        await network.bindDatagram(
          bound,
          (bytes, from) => void this.#serve(bytes, { from, to: () => socket, signal }),
        ),
      )
      return bound
    } catch (cause) {
      throw new Error(`cannot listen for DNS queries on ${host} port ${port}`, { cause })
    }
  }

  async #serve(
    bytes: Uint8Array,
    {
      from,
      to,
      signal,
    }: { readonly from: SocketAddress; readonly to: () => DatagramSocket; readonly signal: AbortSignal },
  ): Promise<void> {
    const answer = await this.#answer(bytes, 'udp', signal)
    if (answer !== undefined && !signal.aborted) to().send(answer, from)
  }

  /** Never rejects. */
  async #answer(
    bytes: Uint8Array,
    transport: Transport,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const { random, log, clock } = this.#options.platform
    const beganMs = clock.monotonicMs()
    const query = parseDnsMessage(bytes)
    if (query === undefined) return formErrResponse(bytes)
    const answered = (
      answer: DnsMessage,
      response: Uint8Array,
      plugin: AnsweredQuery['plugin'],
    ): Uint8Array => {
      const seconds = (clock.monotonicMs() - beganMs) / 1_000
      const sizes = { requestBytes: bytes.length, responseBytes: response.length }
      this.metrics.count({ query, answer, transport, seconds, plugin, ...sizes })
      return response
    }
    const bytesMax = transport === 'tcp' ? tcpBytesMax : udpLimitOf(query)
    try {
      const answer = await answerQuery(query, {
        state: this.#state,
        isKnown: this.hasSynced,
        forwarder: this.#forwarder,
        random,
        transport,
        signal,
      })
      if (answer === undefined) return undefined
      const plugin = answer.isAuthoritative ? 'kubernetes' : 'forward'
      return answered(answer, serializeDnsMessage(answer, bytesMax), plugin)
    } catch (error) {
      this.metrics.panics.add()
      log.error('Failed to answer DNS query', { error })
      const { id, opcode, questions } = query
      const failure = { isResponse: true, answers: [], authorities: [], additionals: [] }
      const responseCode = responseCodes.servFail
      const answer = { ...query, ...failure, id, opcode, questions, responseCode }
      return answered(answer, serializeDnsMessage(answer, bytesMax), '')
    }
  }
}

function udpLimitOf({ edns }: DnsMessage): number {
  return edns ? Math.min(udpBytesMax, Math.max(plainUdpBytesMax, edns.udpBytesMax)) : plainUdpBytesMax
}

function portOf({ address }: Listener): number {
  return 'port' in address ? address.port : 0
}

function dnsStateOf(informers: Informers, { domain, nameServers }: ClusterDnsOptions): DnsState {
  const allServices = informers.of(services)
  const allNamespaces = informers.of(namespaces)
  const slices = informers.of(endpointSlices)
  const byService = slices.index('service', serviceOf)
  const byAddress = slices.index('address', endpointAddresses)
  const byClusterIp = allServices.index('cluster-ip', clusterIps)
  return {
    domain: domain.toLowerCase(),
    ttlSeconds,
    negativeTtlSeconds,
    nameServers,
    hasNamespace: name => allNamespaces.get(name) !== undefined,
    service: (namespace, name) => allServices.get(`${namespace}/${name}`),
    slicesOf: (namespace, name) => byService.get(`${namespace}/${name}`),
    servicesAt: address => byClusterIp.get(address),
    slicesAt: address => byAddress.get(address),
  }
}

function serviceOf({ metadata }: EndpointSlice): readonly string[] {
  const name = metadata.labels?.[serviceNameLabel]
  return name ? [`${metadata.namespace ?? ''}/${name}`] : []
}

function endpointAddresses({ endpoints = [] }: EndpointSlice): readonly string[] {
  return canonical(endpoints.flatMap(({ addresses }) => addresses))
}

function clusterIps({ spec }: Service): readonly string[] {
  return canonical(spec?.clusterIPs ?? [])
}

function canonical(addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses.flatMap(text => parseIpLeniently(text) ?? []).map(formatIp))]
}
