/**
 * The components beside an API server in the same process: controllers, the scheduler and simulated nodes.
 * Their requests go through the whole handler chain, each with its own identity and only the rights that it
 * would have as a separate process.
 */
import type { ApiServer } from '#/apiserver/api-server.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { RestClientMetrics, type RestClientHostMetrics } from '#/client/rest-client-metrics.ts'
import type { Controller } from '#/controllers/controller.ts'
import { ControllerManager } from '#/controllers/controller-manager.ts'
import { HollowKubelet, type NodeShape } from '#/kubelet/hollow-kubelet.ts'
import { HollowKubeletServer } from '#/kubelet/hollow-kubelet-server.ts'
import type { HttpClient } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import { defaultProfiles } from '#/scheduler/default-profile.ts'
import type { ProfileFactory } from '#/scheduler/profile.ts'
import { Scheduler, type PodDecision } from '#/scheduler/scheduler.ts'

export type ControlPlaneComponent = 'controllers' | 'scheduler'

export interface ControlPlaneOptions {
  readonly platform: Platform
  readonly server: Pick<ApiServer, 'handle'>
  readonly controllers: readonly Controller[]
  /** The components that run; all when absent. */
  readonly components?: readonly ControlPlaneComponent[]
  /** The default plugins of Kubernetes when absent. */
  readonly scheduler?: {
    readonly profiles: ProfileFactory
    readonly backoffMs: { readonly first: number; readonly max: number }
  }
  /** `host:port` of the API server, for metrics of the clients; they are not measured when absent. */
  readonly serverAddress?: string | undefined
}

export class ControlPlane {
  readonly components: readonly ControlPlaneComponent[]
  readonly metrics = { controllers: new MetricsRegistry(), scheduler: new MetricsRegistry() }
  /** Names of the controllers. */
  readonly controllers: readonly string[]
  readonly scheduler: Scheduler
  readonly manager: ControllerManager
  readonly #options: ControlPlaneOptions
  readonly #nodes = new Map<string, RunningNode>()
  readonly #stopping = new AbortController()
  readonly #running = new Set<Promise<void>>()

  constructor(options: ControlPlaneOptions) {
    const { platform, controllers } = options
    this.#options = options
    this.components = options.components ?? ['controllers', 'scheduler']
    this.controllers = controllers.map(({ name }) => name)
    const controllerRequests = this.#requests(this.metrics.controllers)
    this.manager = new ControllerManager({
      platform,
      controllers,
      client: this.#clientAs('system:kube-controller-manager', [], controllerRequests),
      clientFor: account => {
        const user = `system:serviceaccount:kube-system:${account}`
        return this.#clientAs(user, serviceAccountGroups, controllerRequests)
      },
      metrics: this.metrics.controllers,
    })
    this.scheduler = new Scheduler({
      platform,
      client: this.#clientAs('system:kube-scheduler', [], this.#requests(this.metrics.scheduler)),
      metrics: this.metrics.scheduler,
      profiles: defaultProfiles,
      ...options.scheduler,
    })
  }

  /** A client authenticated as this user. Its requests are measured in the registry of its component. */
  clientAs(username: string, groups: readonly string[] = [], metrics?: MetricsRegistry): Client {
    return this.#clientAs(username, groups, metrics && this.#requests(metrics))
  }

  #requests(metrics: MetricsRegistry): RestClientHostMetrics | undefined {
    const { serverAddress } = this.#options
    return serverAddress === undefined ? undefined : new RestClientMetrics(metrics).forHost(serverAddress)
  }

  #clientAs(username: string, groups: readonly string[], metrics?: RestClientHostMetrics): Client {
    const { platform, server } = this.#options
    const user = { username, groups: [...groups, 'system:authenticated'] }
    return clientOf({
      platform,
      transport: inProcessTransport({ handle: server.handle, user }),
      userAgent: username,
      metrics,
    })
  }

  /** The last scheduling decision on a pod, `namespace/name`, while it is kept. */
  schedulingDecision(key: string): PodDecision | undefined {
    return this.scheduler.decisionOn(key)
  }

  /** True if no component has pending work; delayed work does not count. */
  get isIdle(): boolean {
    return (
      this.manager.isIdle &&
      this.scheduler.isIdle &&
      [...this.#nodes.values()].every(({ kubelet }) => kubelet.isIdle)
    )
  }

  /** The components with pending work, and their keys. */
  pendingWork(): ReadonlyMap<string, readonly string[]> {
    const nodes = [...this.#nodes.values()].map(({ kubelet }) => {
      return [`kubelet of ${kubelet.name}`, kubelet] as const
    })
    const parts = [['scheduler', this.scheduler] as const, ...nodes]
    const busy = parts.filter(([, part]) => !part.isIdle)
    return new Map([...this.manager.busy(), ...busy.map(([name, part]) => [name, part.busyKeys] as const)])
  }

  start(): void {
    const { signal } = this.#stopping
    if (this.components.includes('controllers')) this.#running.add(this.manager.run(signal))
    if (this.components.includes('scheduler')) this.#running.add(this.scheduler.run(signal))
  }

  /** Starts a node, or restarts a stopped one. */
  startNode(node: NodeShape): void {
    const { platform } = this.#options
    const client = this.clientAs(`system:node:${node.name}`, ['system:nodes'])
    const kubelet = new HollowKubelet({ platform, client, node })
    const stopping = new AbortController()
    const running = kubelet.run(stopping.signal)
    this.#nodes.set(node.name, { kubelet, stopping, running })
  }

  /** The kubelet API of a running node. */
  kubeletClient(nodeName: string): HttpClient | undefined {
    const node = this.#nodes.get(nodeName)
    if (node === undefined) return undefined
    const { platform } = this.#options
    const { kubelet, stopping } = node
    node.server ??= new HollowKubeletServer({ platform, kubelet, signal: stopping.signal })
    return node.server.client
  }

  /** Stops the kubelet; the Node object and its pods remain in the API. */
  async stopNode(name: string): Promise<void> {
    const node = this.#nodes.get(name)
    node?.stopping.abort()
    await node?.running
    this.#nodes.delete(name)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all([...this.#running, ...[...this.#nodes.keys()].map(name => this.stopNode(name))])
  }
}

interface RunningNode {
  readonly kubelet: HollowKubelet
  readonly stopping: AbortController
  readonly running: Promise<void>
  server?: HollowKubeletServer
}

const serviceAccountGroups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system']
