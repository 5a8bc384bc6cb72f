/** Connections to extension servers, over which this server acts as their front proxy. */
import { LruMap } from '#/base/lru-map.ts'
import type { HttpClient, HttpClientTls, HttpConnect } from '#/platform/http-client.ts'
import { addressOfService } from '../service-address.ts'
import { RemoteClients } from '../proxy/remote-clients.ts'
import type { Registry } from '../registry/registry.ts'
import { requestRemote, type RemoteRequest, type RemoteResponse } from '../remote-server.ts'
import type { UserInfo } from '../request.ts'
import type { ExtensionServerSettings } from './api-services.ts'
import { identityHeaders } from './identity-headers.ts'

/** The client certificate of the front proxy, in PEM. */
export interface ProxyClientCertificate {
  readonly cert: string
  readonly key: string
}

export interface ExtensionServersOptions {
  readonly registry: Pick<Registry, 'cache' | 'platform'>
  readonly connectHttp: HttpConnect | undefined
  /** Called for each request, because the certificate may be renewed. */
  readonly proxyClient: (() => ProxyClientCertificate) | undefined
}

export interface ExtensionServer {
  /** `address:port` of one endpoint. */
  readonly host: string
  readonly client: HttpClient
}

/** A request of the aggregator itself. */
export interface AggregatorRequest extends Pick<RemoteRequest, 'path' | 'headers' | 'timeoutMs' | 'signal'> {
  readonly user: UserInfo
  readonly answerBytesMax: number
}

export class ExtensionServers implements AsyncDisposable {
  readonly #options: ExtensionServersOptions
  readonly #clients: RemoteClients | undefined
  /** By content, since connections are shared only by requests with the same TLS settings. */
  #tls = new LruMap<string, HttpClientTls>(tlsSettingsMax)
  #certificate: ProxyClientCertificate | undefined

  constructor(options: ExtensionServersOptions) {
    const { connectHttp } = options
    this.#options = options
    this.#clients = connectHttp && new RemoteClients(connectHttp)
  }

  /** Chooses an endpoint of the service. Throws if it has none. */
  locate(settings: ExtensionServerSettings): ExtensionServer {
    const { cache, platform } = this.#options.registry
    if (this.#clients === undefined) throw new Error('outgoing HTTP is not configured')
    const host = addressOfService({ cache }, platform.random, settings.service)
    return { host, client: this.#clients.of(`https://${host}`, this.#tlsOf(settings)) }
  }

  /** Reads a document. Rejects as `requestRemote` does. */
  request({ client }: ExtensionServer, request: AggregatorRequest): Promise<RemoteResponse> {
    const { clock } = this.#options.registry.platform
    const { user, answerBytesMax, headers, ...rest } = request
    const all = { 'user-agent': 'kube-aggregator', ...headers, ...identityHeaders(user) }
    return requestRemote({ client, clock, answerBytesMax }, { ...rest, headers: all })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#clients?.[Symbol.asyncDispose]()
  }

  #tlsOf({ service, caBundle, insecureSkipTlsVerify }: ExtensionServerSettings): HttpClientTls {
    const certificate = this.#options.proxyClient?.()
    const key = JSON.stringify([service.namespace, service.name, caBundle, insecureSkipTlsVerify])
    const known = certificate === this.#certificate ? this.#tls.get(key) : undefined
    if (known !== undefined) return known
    if (certificate !== this.#certificate) this.#tls = new LruMap(tlsSettingsMax)
    this.#certificate = certificate
    const tls: HttpClientTls = {
      serverName: `${service.name}.${service.namespace}.svc`,
      ...(insecureSkipTlsVerify && { insecureSkipVerify: true }),
      ...(caBundle !== '' && { ca: Buffer.from(caBundle, 'base64') }),
      ...certificate,
    }
    this.#tls.set(key, tls)
    return tls
  }
}

/** Maximum number of TLS settings kept; further ones cost a new connection when they are used again. */
const tlsSettingsMax = 1_000
