/**
 * The way from this server to the kubelets of nodes, for logs, commands in containers and what else only a node knows.
 * The kubelet says in its node's status where it is; both sides prove who they are by certificates of the cluster.
 */
import { notFound } from '#/api/errors.ts'
import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { HttpClient, HttpClientTls, HttpConnect } from '#/platform/http-client.ts'
import { locateKubelet, originOf, type KubeletLocation } from './proxy/locate-kubelet.ts'
import { messageOf, remoteFailure } from './proxy/remote-failure.ts'
import { RemoteClients } from './proxy/remote-clients.ts'
import type { Registry } from './registry/registry.ts'
import { keyOf } from './registry/store-keys.ts'
import { latest } from './registry/write.ts'

export interface KubeletAccess {
  readonly connectHttp: HttpConnect
  /** The server's own certificate for kubelets, and who signs theirs. Asked each time: it may be renewed. */
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
  /** The last identity that was asked for, and the same without looking at whom it is shown to. */
  #identity: Identity | undefined

  constructor(registry: Pick<Registry, 'cache' | 'store'>, access: KubeletAccess) {
    this.#registry = registry
    this.#access = access
    this.#clients = new RemoteClients(access.connectHttp)
    this.#unverified = new RemoteClients(access.connectHttp)
  }

  /** Throws ApiError when there is no such node, or it does not say where its kubelet is. */
  async of(nodeName: string): Promise<KubeletConnection> {
    const location = await this.#locate(nodeName)
    const { tls } = this.#currentIdentity()
    const origin = originOf('https', location.host, location.port)
    return { ...location, client: this.#clients.of(origin, tls) }
  }

  /** Whoever asks for it takes whatever answers at the node's address for its kubelet. */
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
    const stored = await latest(this.#registry, keyOf(nodes, '', nodeName))
    if (stored === undefined) throw notFound({ group: '', kind: 'nodes', name: nodeName })
    try {
      return locateKubelet(stored.object as Node)
    } catch (error) {
      throw remoteFailure(messageOf(error))
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
