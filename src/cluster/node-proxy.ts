/**
 * The network of a node: the service proxy, network policies, the masquerading of pods, the pod network that connects
 * them to the pods of other nodes, and the announcement of load balancer addresses. It runs in the network namespace
 * of this process. Its rules remain when it stops.
 */
import { loadBalancerServices } from '#/api/core/load-balancers.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, services } from '#/api/generated/core/v1-resources.ts'
import { abortable, untilAborted } from '#/base/abort.ts'
import type { MetricsRegistry } from '#/base/metrics.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { Informers } from '#/client/informers.ts'
import type { PassLog } from '#/client/pass-log.ts'
import { NetworkPolicyAgent } from '#/network-policy/network-policy.ts'
import { NetworkPolicyMetrics } from '#/network-policy/network-policy-metrics.ts'
import type { LoadBalancerAnnouncerOptions } from '#/network/load-balancer-announcer.ts'
import type { NodeNetwork } from '#/network/node-network.ts'
import type { PodNetworkSettings } from '#/network/pod-network.ts'
import { removeAnnouncedAddresses } from '#/network/remove-announced-addresses.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { ProxyMode, ProxyNetwork } from '#/proxy/proxier.ts'
import { ProxyMetrics } from '#/proxy/proxy-metrics.ts'
import { ServiceProxy } from '#/proxy/proxy.ts'
import type { ProxyServers } from '#/proxy/proxy-server.ts'
import type { SyncStatus } from '#/proxy/sync-reporter.ts'

export interface NodeProxyOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly usage: () => ProcessUsage
  readonly nodeName: string
  readonly proxyNetwork: ProxyNetwork
  /** Name of the tables of network policies; absent if another CNI plugin enforces them. */
  readonly policyTable: string | undefined
  /** nftables when absent. */
  readonly proxyMode?: ProxyMode | undefined
  readonly servers: ProxyServers
  /** Set up by the caller; absent if another CNI plugin connects the pods. */
  readonly nodeNetwork?: Pick<NodeNetwork, 'ensure'> | undefined
  readonly podNetwork?: PodNetworkSettings | undefined
  readonly passes?: PassLog | undefined
  /** Called with the MTU of the pods when there is another node. */
  readonly onMtu?: (mtu: number | undefined) => void
}

export class NodeProxy implements AsyncDisposable {
  readonly #options: NodeProxyOptions
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #synced = Promise.withResolvers<void>()
  readonly #policies = Promise.withResolvers<NetworkPolicyAgent | undefined>()
  #proxy: ServiceProxy | undefined
  #keepsAddresses = false

  constructor(options: NodeProxyOptions) {
    this.#options = options
  }

  /** The client has the rights of `system:node-proxier`; its requests are measured in the registry. */
  start(clientOf: (metrics: MetricsRegistry) => Client): void {
    const { proxyNetwork: network, proxyMode: mode = 'nftables', nodeNetwork, ...options } = this.#options
    const { platform } = options
    const metrics = new ProxyMetrics()
    const client = clientOf(metrics.registry)
    const onRulesLost = (): void => {
      nodeNetwork
        ?.ensure()
        .catch((error: unknown) => platform.log.error('Failed to restore the node network', { error }))
    }
    const proxy = new ServiceProxy({ ...options, client, metrics, network, mode, onRulesLost })
    this.#proxy = proxy
    const { signal } = this.#stopping
    const informers = new Informers({ platform, client })
    const clusterName = network.table
    this.#running.push(
      proxy.run(signal),
      connectNodes({ ...options, informers }, signal),
      announceLoadBalancers({ ...options, client, informers, clusterName, proxy }, signal),
      informers.run(signal),
    )
    this.#startPolicies(client, metrics.registry)
    void proxy.synced.then(() => this.#synced.resolve())
  }

  /** Resolves when the rules of all services are written. */
  get synced(): Promise<void> {
    return this.#synced.promise
  }

  /** Resolves when the network policies of a pod that is about to start are in force, or after a bounded time. */
  async protectPod(pod: Pod, addresses: readonly string[], signal: AbortSignal): Promise<void> {
    const agent = await abortable(this.#policies.promise, signal)
    await agent?.protectPod(pod, addresses, signal)
  }

  /** Of the service proxy; undefined before the start. */
  get status(): SyncStatus | undefined {
    return this.#proxy?.status
  }

  /** The next process continues to announce the load balancer addresses of the node. */
  keepAddresses(): void {
    this.#keepsAddresses = true
  }

  #startPolicies(client: Client, registry: MetricsRegistry): void {
    const { platform, linux, nodeName, policyTable: table, proxyNetwork } = this.#options
    const { families } = proxyNetwork
    const agent =
      table === undefined
        ? undefined
        : new NetworkPolicyAgent({
            platform,
            linux,
            client,
            nodeName,
            table,
            families,
            metrics: new NetworkPolicyMetrics(registry),
          })
    this.#policies.resolve(agent)
    if (agent) this.#running.push(agent.run(this.#stopping.signal))
  }

  /** Withdraws the load balancer addresses unless they are kept. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#running)
    const { linux, proxyNetwork } = this.#options
    if (!this.#keepsAddresses) await removeAnnouncedAddresses(linux, proxyNetwork.table)
  }
}

type Connection = Pick<NodeProxyOptions, 'platform' | 'linux' | 'nodeName' | 'podNetwork' | 'onMtu'> & {
  readonly informers: Informers
}

/** Runs the pod network as soon as there is another node: a cluster with one node does not load it. */
async function connectNodes(options: Connection, signal: AbortSignal): Promise<void> {
  const { informers, nodeName, podNetwork: settings } = options
  if (settings === undefined) return
  const informer = informers.of(nodes)
  let running: Promise<void> | undefined
  informer.addEventHandler(name => {
    if (name !== nodeName) running ??= runPodNetwork({ ...options, settings, informer }, signal)
  })
  await untilAborted(signal)
  await running
}

type RunPodNetwork = Connection & { readonly settings: PodNetworkSettings; readonly informer: Informer<Node> }

async function runPodNetwork(
  { platform, linux, nodeName, settings, informer, onMtu }: RunPodNetwork,
  signal: AbortSignal,
): Promise<void> {
  const { PodNetwork } = await import('#/network/pod-network.ts')
  const podNetwork = new PodNetwork({ platform, linux, nodes: informer, nodeName, settings })
  void podNetwork.synced.then(() => onMtu?.(podNetwork.mtu))
  await podNetwork.run(signal)
}

type AnnounceLoadBalancers = Omit<LoadBalancerAnnouncerOptions, 'times'> & {
  readonly proxy: Pick<ServiceProxy, 'synced'>
}

/** Runs the announcer as soon as there is a service of type LoadBalancer: most clusters do not load it. */
async function announceLoadBalancers(
  { proxy, ...options }: AnnounceLoadBalancers,
  signal: AbortSignal,
): Promise<void> {
  const { platform, linux, clusterName } = options
  let running: Promise<void> | undefined
  const run = async (): Promise<void> => {
    const { LoadBalancerAnnouncer } = await import('#/network/load-balancer-announcer.ts')
    // Before, the rules for the addresses are missing or old.
    await Promise.race([proxy.synced, untilAborted(signal)])
    await new LoadBalancerAnnouncer(options).run(signal)
  }
  const informer = options.informers.of(services, loadBalancerServices)
  informer.addEventHandler(() => {
    running ??= run()
  })
  await informer.waitForSync(signal).catch(() => undefined)
  // Those of a process that was killed.
  if (running === undefined && !signal.aborted)
    await removeAnnouncedAddresses(linux, clusterName).catch((error: unknown) => {
      platform.log.error('Failed to withdraw load balancer addresses', { error })
    })
  await untilAborted(signal)
  await running
}
