/**
 * A hollow node: it registers, sends heartbeats and moves its pods through their phases without running
 * containers. Used by clusters in tests and by `k8ts up --simulated-nodes`. The behavior of a container
 * follows from its command (`container-script.ts`). All state is in the API, so it can restart at any time.
 */
import { isApiError } from '#/api/errors.ts'
import type { Node, NodeCondition, Pod, Taint } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isBeingDeleted, parseKey, type Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { Informers } from '#/client/informers.ts'
import { PassCauses } from '#/client/pass-causes.ts'
import { PassClient } from '#/client/pass-client.ts'
import { WorkQueue, type ReconcileResult } from '#/client/workqueue.ts'
import type { Platform } from '#/platform/platform.ts'
import { readyNode, registeredNode } from './hollow-kubelet/node-object.ts'
import { planPod, stoppedPod } from './hollow-kubelet/plan-pod.ts'
import { NodeLease } from './node-status/node-lease.ts'

export interface HollowKubeletOptions {
  readonly platform: Platform
  /** Authenticated as `system:node:NAME`. */
  readonly client: Client
  readonly node: NodeShape
}

export interface NodeShape {
  readonly name: string
  readonly address: string
  /** Range of its pod IPs, such as `10.244.3.0/24`. */
  readonly podCidr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly taints?: readonly Taint[]
  /** Node capacity: `cpu`, `memory`, `pods` and others. */
  readonly capacity?: Readonly<Record<string, string>>
}

/** Retry delay after a failed heartbeat. */
const retryMs = 1_000

/** Period of status updates without changes. */
const statusMs = 300_000

const workers = 4

export class HollowKubelet {
  readonly name: string
  /** Informers for the node and the pods bound to it. */
  readonly informers: Informers
  readonly #options: HollowKubeletOptions
  readonly #queue: WorkQueue
  readonly #causes = new PassCauses()
  readonly #pods: Informer<Pod>
  readonly #addresses: PodAddresses
  readonly #lease: NodeLease
  /** Called after each change of a pod; allocated only while logs are followed. */
  #podCallbacks: Map<string, Set<() => void>> | undefined
  #node: Stored<Node> | undefined
  /** True if the node lifecycle controller has marked the node as not ready, or the node was deleted. */
  #isGivenUp = false

  constructor(options: HollowKubeletOptions) {
    const { platform, client, node } = options
    this.name = node.name
    this.#options = options
    this.#addresses = new PodAddresses(node.podCidr)
    this.#lease = new NodeLease({ client, clock: platform.clock, name: node.name })
    this.#queue = new WorkQueue({ platform, name: `kubelet ${node.name}` })
    this.informers = new Informers({ platform, client })
    this.#pods = this.informers.of(pods, { fieldSelector: `spec.nodeName=${node.name}` })
    this.#pods.addEventHandler((key, { oldObject, newObject }) => {
      if (newObject === undefined) this.#addresses.free(oldObject.metadata.uid)
      this.#causes.add(key, platform.clock.now(), this.informers.handled.revision)
      this.#queue.add(key)
      const { uid } = (newObject ?? oldObject).metadata
      this.#podCallbacks?.get(uid)?.forEach(callback => callback())
    })
    this.informers
      .of(nodes, { fieldSelector: `metadata.name=${node.name}` })
      .addEventHandler((_, { newObject }) => {
        this.#isGivenUp = newObject === undefined || !(newObject.status?.conditions ?? []).every(isWell)
      })
  }

  /** True if the work queue is empty. */
  get isIdle(): boolean {
    const { depth, processing: working } = this.#queue.metrics()
    return depth === 0 && working === 0
  }

  /** Keys of queued pods and of pods in sync. */
  get busyKeys(): readonly string[] {
    return this.#queue.busyKeys()
  }

  /** The pods bound to the node. */
  get pods(): Pick<Informer<Pod>, 'get' | 'list'> {
    return this.#pods
  }

  /** Calls back after each change of the pod, until the returned function is called. */
  onPodChange(uid: string, callback: () => void): () => void {
    this.#podCallbacks ??= new Map()
    const callbacks = this.#podCallbacks.get(uid) ?? new Set()
    this.#podCallbacks.set(uid, callbacks.add(callback))
    return () => {
      callbacks.delete(callback)
      if (callbacks.size === 0) this.#podCallbacks?.delete(uid)
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const work = (key: string): Promise<void | ReconcileResult> => this.#syncPod(key, signal)
    const following = this.informers.run(signal)
    await this.#pods.waitForSync(signal).catch(() => undefined)
    // Reserve the addresses of existing pods before new ones are allocated.
    for (const pod of this.#pods.list()) if (pod.status?.podIP) this.#addresses.take(pod)
    await Promise.all([
      following,
      this.#heartbeats(signal),
      this.#queue.run({ workers, signal, reconcile: work }),
    ])
  }

  async #heartbeats(signal: AbortSignal): Promise<void> {
    const {
      platform: { clock, log },
    } = this.#options
    let reportedMs = -Infinity
    while (!signal.aborted) {
      let waitMs = this.#lease.renewalMs
      try {
        if (clock.monotonicMs() - reportedMs >= statusMs || this.#isGivenUp) {
          await this.#reportNode(signal)
          reportedMs = clock.monotonicMs()
        }
        await this.#lease.renew(this.#node, signal)
      } catch (error) {
        if (!signal.aborted) log.info('Failed to update node lease or status', { node: this.name, error })
        waitMs = retryMs
      }
      await clock.sleep(waitMs, signal).catch(() => undefined)
    }
  }

  async #reportNode(signal: AbortSignal): Promise<void> {
    const options = { signal, timeoutMs: this.#lease.renewalMs }
    const {
      client,
      node,
      platform: { clock },
    } = this.#options
    const known = await client.find(nodes, { name: this.name }, options)
    const registered = known ?? (await client.create(nodes, registeredNode(node), options))
    // A patch of the status only, because other components write taints and labels concurrently.
    const { status } = readyNode(registered, node, clock.now())
    const at = { name: this.name, subresource: 'status' }
    this.#node = await client.patch(nodes, at, { type: 'strategic', patch: { status } }, options)
  }

  async #syncPod(key: string, signal: AbortSignal): Promise<void | ReconcileResult> {
    const { clock } = this.#options.platform
    const startedMs = clock.now()
    const { causes, queuedMs } = this.#causes.take(key) ?? { causes: [], queuedMs: startedMs }
    const pod = this.#pods.get(key)
    if (pod === undefined) return undefined
    const caused = { causes, queuedMs: Math.min(queuedMs, startedMs) }
    const pass = { component: 'kubelet', node: this.name, key, ...caused, startedMs, steps: [] }
    const work = { client: new PassClient(this.#options.client, () => pass), signal }
    let againMs: number | undefined = 0
    try {
      const result = await (isBeingDeleted(pod)
        ? this.#stopPod(key, pod, work)
        : this.#updatePodStatus(pod, work))
      againMs = result?.requeueAfterMs
      return result
    } catch (error) {
      // The pod was changed or deleted in the meantime; the informer will queue it again.
      if (!isApiError(error, 'Conflict') && !isApiError(error, 'NotFound')) throw error
      againMs = undefined
      return undefined
    } finally {
      if (againMs !== undefined) this.#causes.keep(key, { causes, queuedMs: clock.now() + againMs })
    }
  }

  /** Simulated containers stop immediately. Pods with finalizers get a final status first. */
  async #stopPod(key: string, pod: Stored<Pod>, { client, signal }: PodWork): Promise<void> {
    const { platform } = this.#options
    const stopped = stoppedPod(pod, platform.clock.now())
    if (pod.metadata.finalizers?.length && stopped.status !== pod.status) {
      await client.updateStatus(pods, stopped, { signal })
    }
    const preconditions = { uid: pod.metadata.uid }
    await client.delete(pods, parseKey(key), { gracePeriodSeconds: 0, preconditions, signal })
  }

  async #updatePodStatus(pod: Stored<Pod>, { client, signal }: PodWork): Promise<void | ReconcileResult> {
    const {
      node: { address },
      platform,
    } = this.#options
    const podIp = pod.spec?.hostNetwork ? address : this.#addresses.take(pod)
    const { status, requeueAfterMs } = planPod(pod, { nowMs: platform.clock.now(), hostIp: address, podIp })
    if (!equalJson(status, pod.status)) await client.updateStatus(pods, { ...pod, status }, { signal })
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs }
  }
}

/** One sync of a pod; the writes of the client carry its pass. */
interface PodWork {
  readonly client: Client
  readonly signal: AbortSignal
}

function isWell({ type, status }: NodeCondition): boolean {
  return type !== 'Ready' || status === 'True'
}

/** Allocates pod IPs from the node's /24. A released address is reused as late as possible. */
class PodAddresses {
  readonly #prefix: string
  readonly #byUid = new Map<string, string>()
  readonly #taken = new Set<string>()
  #last = 1

  /** `cidr` has the form `10.244.3.0/24`. */
  constructor(cidr: string) {
    this.#prefix = cidr.replace(/\.\d+\/\d+$/, '')
  }

  /** Returns the pod's address, allocating one if needed. */
  take({ metadata, status }: Stored<Pod>): string {
    const uid = metadata.uid
    const known = this.#byUid.get(uid)
    if (known !== undefined) return known
    const address = status?.podIP ?? this.#next()
    this.#byUid.set(uid, address)
    this.#taken.add(address)
    return address
  }

  free(uid: string): void {
    this.#taken.delete(this.#byUid.get(uid) ?? '')
    this.#byUid.delete(uid)
  }

  #next(): string {
    for (let tries = 0; tries < 254; tries++) {
      this.#last = this.#last >= 254 ? 2 : this.#last + 1
      const address = `${this.#prefix}.${this.#last}`
      if (!this.#taken.has(address)) return address
    }
    throw new Error(`no IP addresses available in ${this.#prefix}.0/24`)
  }
}
