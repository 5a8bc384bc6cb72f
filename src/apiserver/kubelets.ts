/**
 * Connections from the API server to kubelets, for logs, exec and other node APIs. The address comes from the
 * node status; both sides authenticate with cluster certificates.
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
    const location = await this.#locate(nodeName)
    const { tls } = this.#currentIdentity()
    const origin = originOf('https', location.host, location.port)
    return { ...location, client: this.#clients.of(origin, tls) }
  }

  /** Skips verification of the kubelet's serving certificate. */
  async ofUnverified(nodeName: string): Promise<KubeletConnection> {
    const location = await this.#locate(nodeName)
    const { unverified } = this.#currentIdentity()
    const origin = originOf('https', location.host, location.port)
    return { ...location, client: this.#unverified.of(origin, unverified) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#clients[Symbol.asyncDispose](), this.#unverified[Symbol.asyncDispose]()])
  }

  async #locate(nodeName: string): Promise<KubeletLocation> {
    const stored = await getStoredObject(this.#registry, keyOf(nodes, '', nodeName))
    if (stored === undefined) throw notFound({ group: '', kind: 'nodes', name: nodeName })
    try {
      return locateKubelet(stored.object as Stored<Node>)
    } catch (error) {
      throw upstreamError(messageOf(error))
    }
  }

  #currentIdentity(): Identity {
    const tls = this.#access.tls()
    if (this.#identity?.tls !== tls) {
      this.#identity = { tls, unverified: { ...tls, insecureSkipVerify: true } }
    }
    return this.#identity
  }
}

interface Identity {
  readonly tls: HttpClientTls
  readonly unverified: HttpClientTls
}
