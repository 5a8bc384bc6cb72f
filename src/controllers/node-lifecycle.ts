/**
 * Sets the conditions of nodes without heartbeats to Unknown, and derives taints from node conditions:
 * NoSchedule taints at once, NoExecute taints at a limited rate per zone, since a network failure looks like
 * the failure of many nodes.
 * https://kubernetes.io/docs/concepts/architecture/nodes/#node-controller
 */
import { nodeMetrics, zoneLabel, type NodeMetrics } from './node-lifecycle/node-metrics.ts'
import { conditionOf, withCondition } from '#/api/conditions.ts'
import type { Lease } from '#/api/generated/coordination/v1.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { zoneKeyOf } from '#/api/core/zone.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { heartbeatOf, unknownConditions, type NodeHealth } from './node-lifecycle/heartbeat.ts'
import { planTaints, reconciledLabels } from './node-lifecycle/taints.ts'
import { ZoneEvictionLimiter } from './node-lifecycle/zone-eviction-limiter.ts'
import { isPodReady, podsByNode } from './pods.ts'

export interface NodeLifecycleSettings {
  /**
   * Time without a heartbeat after which a node is considered unreachable; `startupGraceMs` applies until its
   * first status.
   */
  readonly graceMs?: number
  readonly startupGraceMs?: number
}

const graceMsUsual = 50_000
const startupGraceMsUsual = 60_000

export function nodeLifecycleController(settings: NodeLifecycleSettings = {}): Controller {
  return {
    name: 'node-lifecycle-controller',
    queueName: 'node_lifecycle_controller',
    account: 'node-controller',
    workers: 8,
    setUp: context => setUp(context, settings),
  }
}

function setUp(context: ControllerContext, settings: NodeLifecycleSettings): Reconcile {
  const lifecycle = new NodeLifecycle(context, settings)
  return request => lifecycle.reconcile(request)
}

class NodeLifecycle {
  readonly #context: ControllerContext
  readonly #graceMs: number
  readonly #startupGraceMs: number
  readonly #nodes: Informer<Node>
  readonly #leases: Informer<Lease>
  readonly #podsByNode: Index<Stored<Pod>>
  /** Last observed heartbeat by node, with this process's time, since node clocks may differ. */
  readonly #health = new Map<string, NodeHealth>()
  readonly #evictionLimiter = new ZoneEvictionLimiter()
  readonly #metrics: NodeMetrics
  /** Nodes as last reconciled, for detecting the changes that events report. */
  readonly #seen = new Map<string, Node>()

  constructor(context: ControllerContext, settings: NodeLifecycleSettings) {
    const { informer, enqueue } = context
    this.#context = context
    this.#graceMs = settings.graceMs ?? graceMsUsual
    this.#startupGraceMs = settings.startupGraceMs ?? startupGraceMsUsual
    this.#nodes = informer(nodes)
    this.#leases = informer(leases, { namespace: 'kube-node-lease' })
    this.#podsByNode = podsByNode(informer(pods))
    this.#metrics = nodeMetrics(context.metrics, () => this.#evictionLimiter.zones)
    this.#nodes.addEventHandler((name, { oldObject, newObject }) => {
      if (newObject === undefined) this.#forget(name)
      else this.#observe(name, newObject, this.#leases.get(`kube-node-lease/${name}`))
      if (newObject === undefined || oldObject === undefined || mattersHere(oldObject, newObject))
        enqueue(name)
    })
    this.#leases.addEventHandler((key, { newObject }) => {
      const name = key.slice(key.indexOf('/') + 1)
      const node = this.#nodes.get(name)
      if (newObject !== undefined) this.#observe(name, node, newObject)
      if (isUnknown(node)) enqueue(name)
    })
  }

  async reconcile(request: ReconcileRequest): Promise<ReconcileResult | undefined> {
    const { clock } = this.#context.platform
    const startMs = clock.monotonicMs()
    try {
      return await this.#reconcile(request)
    } finally {
      this.#metrics.updateNodeHealthSeconds.observe((clock.monotonicMs() - startMs) / 1_000)
    }
  }

  async #reconcile({ key: name, client, signal }: ReconcileRequest): Promise<ReconcileResult | undefined> {
    const node = this.#nodes.get(name)
    this.#recordEvents(name, node)
    if (node === undefined) return undefined
    const graceLeftMs = this.#graceLeftMs(name, node)
    const { clock } = this.#context.platform
    if (graceLeftMs <= 0) {
      const conditions = unknownConditions(node, formatTime(clock.now()))
      if (!equalJson(conditions, node.status?.conditions)) {
        await client.updateStatus(nodes, { ...node, status: { ...node.status, conditions } }, { signal })
        return { requeueAfterMs: 0 }
      }
    }
    const ready = conditionOf(node.status?.conditions, 'Ready')
    const change = this.#evictionLimiter.observe(name, { zone: zoneKeyOf(node), isReady: isReady(node) })
    if (change === 'changed') for (const each of this.#nodes.list()) this.#context.enqueue(keyOf(each))
    if (ready !== undefined && !isReady(node)) await this.#markPodsNotReady(node, client)
    const waitMs = await this.#taint(node, client, signal)
    const requeueAfterMs = Math.min(graceLeftMs > 0 ? graceLeftMs : Infinity, waitMs)
    return requeueAfterMs === Infinity ? undefined : { requeueAfterMs }
  }

  /** Records events for added, removed and failed nodes. */
  #recordEvents(name: string, node: Node | undefined): void {
    const before = this.#seen.get(name)
    const isSame = before?.metadata.uid === node?.metadata.uid
    if (node === undefined) this.#seen.delete(name)
    else this.#seen.set(name, node)
    if (before !== undefined && !isSame) {
      this.#record(before, 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`)
    }
    if (node !== undefined && !isSame) {
      this.#record(node, 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`)
    }
    if (node !== undefined && isSame && isReady(before) && !isReady(node)) {
      this.#record(node, 'NodeNotReady', `Node ${name} status is now: NodeNotReady`)
    }
  }

  #record(node: Node, reason: string, message: string): void {
    this.#context.recorder.record(node, { type: 'Normal', reason, message })
  }

  #observe(name: string, node: Node | undefined, lease: Lease | undefined): void {
    const heartbeat = heartbeatOf(node, lease)
    if (this.#health.get(name)?.heartbeat === heartbeat) return
    this.#health.set(name, { heartbeat, atMs: this.#context.platform.clock.monotonicMs() })
  }

  #forget(name: string): void {
    this.#health.delete(name)
    this.#evictionLimiter.forget(name)
  }

  /** Remaining time until the node's heartbeat is overdue. */
  #graceLeftMs(name: string, node: Node): number {
    const nowMs = this.#context.platform.clock.monotonicMs()
    const heardMs = this.#health.get(name)?.atMs ?? nowMs
    const isNew = conditionOf(node.status?.conditions, 'Ready') === undefined
    return (isNew ? this.#startupGraceMs : this.#graceMs) - (nowMs - heardMs)
  }

  /**
   * Updates the taints. Returns the time until a NoExecute taint may be added; Infinity if none is pending.
   */
  async #taint(node: Stored<Node>, client: Client, signal: AbortSignal): Promise<number> {
    const { clock } = this.#context.platform
    const name = keyOf(node)
    const plan = planTaints(node, {
      nowText: formatTime(clock.now()),
      areEvictionsOff: this.#evictionLimiter.areAllFullyDisrupted,
    })
    if (!plan.isEvicting) this.#evictionLimiter.release(name)
    const waitMs = plan.isEvicting ? this.#evictionLimiter.reserveEviction(name, clock.monotonicMs()) : 0
    const taints = waitMs > 0 ? plan.taintsWithoutEviction : plan.taints
    const labels = reconciledLabels(node)
    if (!equalJson(taints, node.spec?.taints ?? []) || labels !== node.metadata.labels) {
      const metadata = { ...node.metadata, ...(labels && { labels }) }
      await client.update(nodes, { ...node, metadata, spec: { ...node.spec, taints } }, { signal })
      if (plan.isEvicting && waitMs <= 0) this.#metrics.evictions.with(zoneLabel(zoneKeyOf(node))).add()
    }
    return waitMs > 0 ? waitMs : Infinity
  }

  /** Removes the node's pods from service endpoints. */
  async #markPodsNotReady(node: Stored<Node>, client: Client): Promise<void> {
    const { platform, recorder } = this.#context
    for (const pod of this.#podsByNode.get(keyOf(node)).filter(isPodReady)) {
      const conditions = withCondition(pod.status?.conditions, {
        type: 'Ready',
        status: 'False',
        lastTransitionTime: formatTime(platform.clock.now()),
      })
      await client.updateStatus(pods, { ...pod, status: { ...pod.status, conditions } })
      recorder.record(pod, { type: 'Warning', reason: 'NodeNotReady', message: 'Node is not ready' })
    }
  }
}

function isReady(node: Node | undefined): boolean {
  return conditionOf(node?.status?.conditions, 'Ready')?.status === 'True'
}

function isUnknown(node: Node | undefined): boolean {
  return conditionOf(node?.status?.conditions, 'Ready')?.status === 'Unknown'
}

/** False for a plain heartbeat. */
function mattersHere(before: Node, after: Node): boolean {
  const statuses = ({ status }: Node): unknown =>
    status?.conditions?.map(({ type, status: value }) => [type, value])
  return (
    !equalJson(before.spec, after.spec) ||
    !equalJson(before.metadata.labels, after.metadata.labels) ||
    !equalJson(statuses(before), statuses(after))
  )
}
