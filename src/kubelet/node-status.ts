/**
 * Registers the node, again if it was deleted, reports its status and renews its lease. By default the status is
 * computed every ten seconds and written when it changed or was last written five minutes ago. It is patched, because
 * other components write it too. It neither runs nor evicts pods: `eviction.ts` observes node pressure.
 */
import { isApiError } from '#/api/errors.ts'
import type { Node, NodeStatus } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { createStrategicMergePatch } from '#/api/patch.ts'
import type { Client } from '#/client/client.ts'
import type { EventContent, EventRecorder } from '#/client/event-recorder.ts'
import { Informer } from '#/client/informer.ts'
import type { ContainerRuntime, Image } from '#/cri/cri.ts'
import type { Platform } from '#/platform/platform.ts'
import type { PressureType } from './eviction.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import { readMachineInfo, type NodeLinux } from './machine-info.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { NodeLease } from './node-status/node-lease.ts'
import { planEvents, hasChanged, planStatus } from './node-status/plan-status.ts'
import { NodeStartupLatency } from './node-status/node-startup-latency.ts'
import { missingMetadata, planNode } from './node-status/plan-node.ts'
import { RuntimeState } from './node-status/runtime-state.ts'

export interface NodeRegistrationOptions {
  readonly platform: Platform
  readonly linux: NodeLinux
  /** Authenticated as `system:node:NAME`. */
  readonly client: Client
  readonly runtime: Pick<ContainerRuntime, 'status' | 'version'>
  readonly node: KubeletConfiguration
  /** Kubelet version, such as `v1.36.4+k8ts.0.1.0`. */
  readonly version: string
  readonly images: { list(): Promise<readonly Image[]> }
  readonly recorder: Pick<EventRecorder, 'record'>
  readonly metrics: KubeletMetrics
  /** Node pressure conditions that are true. */
  readonly pressures: () => ReadonlySet<PressureType>
  /** Further reasons why the node is not ready, human-readable. */
  readonly problems?: () => readonly string[]
  /** Volumes that must not be detached, such as `kubernetes.io/csi/...`. */
  readonly volumesInUse?: () => readonly string[]
  readonly declaredFeatures?: readonly string[]
}

/** Timeout of requests. */
const requestMs = 10_000

/** Checks are frequent for a limited time while the node starts, so that it becomes ready soon. */
const startingCheckMs = 100
const startingMs = 120_000
const notReadyCheckMs = 1_000

/** Initial retry delay; doubles on each failure. */
const retryMs = 100
const retryMaxMs = 7_000

export class NodeRegistration {
  /** Informer for this node; runs as long as the registration. */
  readonly nodes: Informer<Node>
  readonly #options: NodeRegistrationOptions
  readonly #lease: NodeLease
  readonly #watch: RuntimeState
  readonly #startup: NodeStartupLatency
  /** As last read or written here; the informer may lag behind. */
  #node: Stored<Node> | undefined
  #reportedMs = -Infinity
  /** Images as last listed by the runtime. */
  #images: readonly Image[] = []
  #isReady = false
  #endSleep: (() => void) | undefined

  constructor(options: NodeRegistrationOptions) {
    const {
      platform,
      client,
      runtime,
      metrics,
      node: { name, nodeLeaseDurationSeconds: durationSeconds },
    } = options
    this.#options = options
    this.nodes = new Informer({
      platform,
      client,
      resource: nodes,
      selection: { fieldSelector: `metadata.name=${name}` },
    })
    this.#lease = new NodeLease({ client, clock: platform.clock, name, durationSeconds })
    this.#watch = new RuntimeState(runtime, platform.clock)
    this.#startup = new NodeStartupLatency(platform, metrics.nodeStartup)
  }

  /** Triggers a status update now. */
  check(): void {
    this.#endSleep?.()
  }

  /** Records an event of the node. It has the name instead of the UID, which is how clients look it up. */
  record(content: EventContent): void {
    const { recorder, node } = this.#options
    const about = { apiVersion: 'v1', kind: 'Node', metadata: { name: node.name, uid: node.name } } as const
    recorder.record(about, content)
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.nodes.run(signal), this.#reportStatus(signal), this.#renewLease(signal)])
  }

  async #renewLease(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    let failures = 0
    while (!signal.aborted) {
      try {
        await this.#lease.renew(this.#node, signal)
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        failures++
        log.warn('Failed to update lease', { error })
      }
      await clock
        .sleep(failures === 0 ? this.#lease.renewalMs : backoffMs(failures), signal)
        .catch(() => undefined)
    }
  }

  async #reportStatus(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    const { nodeStatusUpdateMs } = this.#options.node
    const startedMs = clock.monotonicMs()
    let failures = 0
    while (!signal.aborted) {
      try {
        await this.#syncStatus(signal)
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        failures++
        if (isApiError(error, 'NotFound')) this.#node = undefined
        log.warn('Error updating node status, will retry', { error })
      }
      const isStarting = clock.monotonicMs() - startedMs < startingMs
      const periodMs = this.#isReady ? nodeStatusUpdateMs : isStarting ? startingCheckMs : notReadyCheckMs
      await this.#sleep(failures === 0 ? periodMs : backoffMs(failures), signal)
    }
  }

  async #syncStatus(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.platform
    const known = this.#latest() ?? (await this.#register(signal))
    const before = known.status ?? {}
    const status = await this.#planned(before, signal)
    this.#isReady = isReady(status)
    const isDue = clock.monotonicMs() - this.#reportedMs >= this.#options.node.nodeStatusReportMs
    if (!isDue && !hasChanged(before, status)) return
    await this.#write(known, status, signal)
    this.#reportedMs = clock.monotonicMs()
    if (this.#isReady) this.#startup.ready()
    this.#recordEvents(before, status)
  }

  /** Undefined if the node was deleted and has to be registered again. */
  #latest(): Stored<Node> | undefined {
    const { name } = this.#options.node
    const followed = this.nodes.get(name)
    const own = this.#node
    if (own === undefined) return followed
    if (this.nodes.isCurrent(own.metadata.resourceVersion)) return followed
    return own
  }

  async #register(signal: AbortSignal): Promise<Stored<Node>> {
    const { client, node, linux } = this.#options
    const options = { signal, timeoutMs: requestMs }
    const wanted = planNode(node, linux.machine)
    this.#startup.beginRegistration()
    if (!node.registerNode) return (this.#node = await client.get(nodes, { name: node.name }, options))
    try {
      this.#node = await client.create(nodes, wanted, options)
      await this.#startup.registered()
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error
      const known = await client.get(nodes, { name: node.name }, options)
      const metadata = missingMetadata(known, wanted)
      this.#node =
        metadata === undefined
          ? known
          : await client.patch(nodes, { name: node.name }, { type: 'merge', patch: { metadata } }, options)
    }
    this.#reportedMs = -Infinity
    return this.#node
  }

  async #planned(before: NodeStatus, signal: AbortSignal): Promise<NodeStatus> {
    const { platform, linux, node, version, images, pressures } = this.#options
    const { problems, volumesInUse, declaredFeatures } = this.#options
    const [machine, imagesHere] = await Promise.all([
      readMachineInfo({ platform, linux, node }),
      images.list().catch(() => this.#images),
      this.#watch.update(signal),
    ])
    this.#images = imagesHere
    const observation = {
      machine,
      hostInfo: linux.machine,
      kubeletVersion: version,
      runtime: this.#watch.version,
      handlers: this.#watch.handlers,
      images: imagesHere,
      problems: [...this.#watch.problems(), ...(problems?.() ?? [])],
      pressures: pressures(),
      volumesInUse: volumesInUse?.() ?? [],
      declaredFeatures: declaredFeatures ?? [],
    }
    return planStatus(before, { node, observed: observation, nowMs: platform.clock.now() })
  }

  async #write(known: Node, status: NodeStatus, signal: AbortSignal): Promise<void> {
    const { client, node } = this.#options
    const patch = createStrategicMergePatch(jsonOf(known), jsonOf({ ...known, status }), nodes.schema)
    const at = { name: node.name, subresource: 'status' }
    this.#node = await client.patch(nodes, at, { type: 'strategic', patch }, { signal, timeoutMs: requestMs })
  }

  #recordEvents(before: NodeStatus, after: NodeStatus): void {
    for (const event of planEvents(this.#options.node.name, before, after)) this.record(event)
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.platform
    const woken = new AbortController()
    this.#endSleep = () => woken.abort()
    await clock.sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => undefined)
    this.#endSleep = undefined
  }
}

function backoffMs(failures: number): number {
  return Math.min(retryMs * 2 ** (failures - 1), retryMaxMs)
}

function isReady({ conditions = [] }: NodeStatus): boolean {
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

function jsonOf(node: Node): Record<string, JsonValue> {
  return node as unknown as Record<string, JsonValue>
}
