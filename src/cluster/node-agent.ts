/** All components of one node that runs containers, in one process: its kubelet and its network. */
import type { MetricsRegistry } from '#/base/metrics.ts'
import type { Client } from '#/client/client.ts'
import type { PassLog } from '#/client/pass-log.ts'
import type { KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import type { NodeNetwork } from '#/network/node-network.ts'
import type { PodNetworkSettings } from '#/network/pod-network.ts'
import { removeNftablesTables } from '#/nftables/nftables-tables.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProxyMode, ProxyNetwork } from '#/proxy/proxier.ts'
import { removeServiceRules } from '#/proxy/proxy-modes.ts'
import { proxyServersAt } from '#/proxy/proxy-server.ts'
import type { SyncStatus } from '#/proxy/sync-reporter.ts'
import type { NodeFolders } from './node-folders.ts'
import { NodeKubelet, type NodeMachine, type StartNodeKubelet } from './node-kubelet.ts'
import { NodeProxy } from './node-proxy.ts'

export interface NodeAgentOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly machine: NodeMachine
  readonly folders: NodeFolders
  readonly kubelet: KubeletConfiguration
  /** Address of the servers for health and metrics of the service proxy. */
  readonly address: string
  /** Name of the CNI network. */
  readonly networkName: string
  readonly nodeNetwork: NodeNetwork
  readonly proxyNetwork: ProxyNetwork
  /** Name of the tables of network policies. */
  readonly policyTable: string
  /** nftables when absent. */
  readonly proxyMode?: ProxyMode | undefined
  readonly podNetwork: PodNetworkSettings
  /** The kubelet's version in the node status. */
  readonly version: string
  /** Gets the passes of the service proxy; the kubelet's server shows them. */
  readonly passes: PassLog
  readonly onProgress: (text: string) => void
}

export interface StartNodeAgent extends Omit<StartNodeKubelet, 'client'> {
  readonly clients: {
    readonly kubelet: StartNodeKubelet['client']
    /** Has the rights of `system:node-proxier`. */
    readonly proxy: (metrics: MetricsRegistry) => Client
  }
}

export class NodeAgent implements AsyncDisposable {
  readonly #options: NodeAgentOptions
  readonly #kubelet: NodeKubelet
  readonly #proxy: NodeProxy
  #keepsContainers = false

  /** Begins to start the container runtime. */
  constructor(options: NodeAgentOptions) {
    const { kubelet, machine, networkName, address } = options
    this.#options = options
    this.#kubelet = new NodeKubelet({
      ...options,
      cni: { network: networkName },
      protectPod: (pod, addresses, signal) => this.#proxy.protectPod(pod, addresses, signal),
    })
    this.#proxy = new NodeProxy({
      ...options,
      usage: machine.usage,
      nodeName: kubelet.name,
      servers: proxyServersAt(address),
      onMtu: mtu => this.#kubelet.useMtu(mtu),
    })
  }

  /** Resolves when the kubelet and the service proxy run. */
  async start({ clients, ...given }: StartNodeAgent): Promise<void> {
    const starting = this.#kubelet.start({ ...given, client: clients.kubelet })
    // Pods that the kubelet starts wait for their network policies.
    this.#proxy.start(clients.proxy)
    await starting
  }

  /** Resolves when the rules of all services are written. */
  get synced(): Promise<void> {
    return this.#proxy.synced
  }

  /** Of the service proxy; undefined before the start. */
  get proxyStatus(): SyncStatus | undefined {
    return this.#proxy.status
  }

  /** When the node stops, its containers and the rules and addresses of its services stay for the next process. */
  keepContainers(): void {
    this.#keepsContainers = true
    this.#proxy.keepAddresses()
  }

  /** Stops everything on the node, with its containers unless they are kept; their pods are restarted with the node. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { linux, proxyNetwork, policyTable } = this.#options
    if (this.#keepsContainers) {
      await Promise.all([this.#kubelet.stop(), this.#proxy[Symbol.asyncDispose]()])
      return this.#kubelet.release()
    }
    await Promise.all([this.#kubelet[Symbol.asyncDispose](), this.#proxy[Symbol.asyncDispose]()])
    await removeServiceRules(linux, proxyNetwork.table)
    await removeNftablesTables(linux, policyTable)
  }
}
