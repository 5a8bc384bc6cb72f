/**
 * Connections from the API server to kubelets, for logs, exec and other node APIs. The address comes from the
 * node status; this server authenticates with a client certificate.
 */
import { messageOf } from '#/base/message-of.ts'
import { notFound } from '#/api/errors.ts'
import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { HttpClient, HttpClientTls, HttpConnect } from '#/platform/http-client.ts'
import { locateKubelet, originOf, type KubeletLocation } from './proxy/locate-kubelet.ts'
import { upstreamError } from './proxy/upstream-error.ts'
import { RemoteClients } from './proxy/remote-clients.ts'
import type { Registry } from './registry/registry.ts'
import { keyOf } from './registry/store-keys.ts'
import { getStoredObject } from './registry/get-stored-object.ts'

export interface KubeletAccess {
  readonly connectHttp: HttpConnect
  /**
   * Client certificate for kubelets, and the CA of their serving certificates. Called for each connection,
   * because it may be renewed.
   */
  readonly tls: () => HttpClientTls
  /**
   * True if the CA has signed the serving certificates of all kubelets. Otherwise only those of k8ts are
   * verified: other kubelets sign their own by default.
   */
  readonly verifiesAll?: boolean
  /** The client of a simulated node in this process; undefined for other nodes. */
  readonly simulated?: (nodeName: string) => HttpClient | undefined
}

export interface KubeletConnection extends KubeletLocation {
  readonly client: HttpClient
}

export class Kubelets implements AsyncDisposable {
  readonly #registry: Pick<Registry, 'cache' | 'store'>
  readonly #access: KubeletAccess
  readonly #clients: RemoteClients
  readonly #unverified: RemoteClients
  /** The most recent TLS options, with and without verification. */
  #identity: Identity | undefined

  constructor(registry: Pick<Registry, 'cache' | 'store'>, access: KubeletAccess) {
    this.#registry = registry
    this.#access = access
    this.#clients = new RemoteClients(access.connectHttp)
    this.#unverified = new RemoteClients(access.connectHttp)
  }

  /** Throws ApiError if the node does not exist or its status has no kubelet address. */
  async of(nodeName: string): Promise<KubeletConnection> {
    const node = await this.#node(nodeName)
    const simulated = this.#simulated(node)
    if (simulated !== undefined) return simulated
    const location = locationOf(node)
    if (this.#access.verifiesAll !== true && !isOwnKubelet(node)) return this.#unverifiedAt(location)
    const { tls } = this.#currentIdentity()
    const origin = originOf('https', location.host, location.port)
    return { ...location, client: this.#clients.of(origin, tls) }
  }

  /** Skips verification of the kubelet's serving certificate. */
  async ofUnverified(nodeName: string): Promise<KubeletConnection> {
    const node = await this.#node(nodeName)
    return this.#simulated(node) ?? this.#unverifiedAt(locationOf(node))
  }

  /** Simulated nodes have no port. */
  #simulated({ metadata, status }: Stored<Node>): KubeletConnection | undefined {
    const client = this.#access.simulated?.(metadata.name)
    return client && { host: status?.addresses?.[0]?.address ?? metadata.name, port: 10_250, client }
  }

  #unverifiedAt(location: KubeletLocation): KubeletConnection {
    const { unverified } = this.#currentIdentity()
    const origin = originOf('https', location.host, location.port)
    return { ...location, client: this.#unverified.of(origin, unverified) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#clients[Symbol.asyncDispose](), this.#unverified[Symbol.asyncDispose]()])
  }

  async #node(nodeName: string): Promise<Stored<Node>> {
    const stored = await getStoredObject(this.#registry, keyOf(nodes, '', nodeName))
    if (stored === undefined) throw notFound({ group: '', kind: 'nodes', name: nodeName })
    return stored.object as Stored<Node>
  }

  #currentIdentity(): Identity {
    const tls = this.#access.tls()
    if (this.#identity?.tls !== tls) {
      this.#identity = { tls, unverified: { ...tls, insecureSkipVerify: true } }
    }
    return this.#identity
  }
}

function locationOf(node: Stored<Node>): KubeletLocation {
  try {
    return locateKubelet(node)
  } catch (error) {
    throw upstreamError(messageOf(error))
  }
}

/** The serving certificates of k8ts' own kubelets are signed by the cluster's CA. */
function isOwnKubelet({ status }: Stored<Node>): boolean {
  return status?.nodeInfo?.kubeletVersion?.includes('+k8ts') === true
}

interface Identity {
  readonly tls: HttpClientTls
  readonly unverified: HttpClientTls
}
