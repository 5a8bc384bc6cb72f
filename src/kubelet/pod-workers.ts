/** The pod workers of the node: admits pods from the pod sources and runs one worker per pod. */
import type { Node } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, keyOf } from '#/api/metadata.ts'
import { admitPod } from './admit-pod.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import type { PodWorkerDependencies } from './pod-worker-dependencies.ts'
import type { PodSources, SourcedPod } from './pod-sources.ts'
import { isTerminal } from './pod-status.ts'
import { PodWorker } from './pod-worker.ts'
import {
  allocatedAtStart,
  compareDeferredResizes,
  pendingResizeOf,
  planResize,
  withAllocatedResources,
  type DeferredResize,
  type PendingResize,
} from './resize-allocation.ts'

export interface PodWorkersOptions {
  readonly dependencies: PodWorkerDependencies
  readonly sources: PodSources
  /** The API object. */
  readonly node: () => Node | undefined
  /** Node pressure conditions. */
  readonly pressures: () => ReadonlySet<string>
  /** Called when a pod's state changed. */
  readonly onChange: (uid: string) => void
  /** Called when a pod was added. */
  readonly onAdd: () => void
  /** Called when a pod is completely cleaned up. */
  readonly onGone: (pod: KubeletPod) => void
}

/** One worker per pod: created when the pod is first seen, removed when the pod is cleaned up. */
export class PodWorkers {
  readonly #options: PodWorkersOptions
  readonly #workers = new Map<string, PodWorker>()
  #signal: AbortSignal | undefined

  constructor(options: PodWorkersOptions) {
    this.#options = options
    options.sources.onChange(uid => this.#sync(uid))
  }

  get(uid: string): PodWorker | undefined {
    return this.#workers.get(uid)
  }

  all(): readonly PodWorker[] {
    return [...this.#workers.values()]
  }

  /** Schedules a sync after a container event of one pod, or of all pods if `uid` is undefined. */
  syncSoon(uid?: string): void {
    if (uid !== undefined) this.#workers.get(uid)?.syncSoon()
    else for (const worker of this.#workers.values()) worker.syncSoon()
  }

  /** Starts workers for existing pods, oldest first, and for all later ones. */
  begin(signal: AbortSignal): void {
    this.#signal = signal
    const known = this.#options.sources.all().toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1))
    for (const { pod } of known) this.#sync(pod.metadata.uid)
  }

  #sync(uid: string): void {
    const sourced = this.#options.sources.get(uid)
    const worker = this.#workers.get(uid)
    if (worker !== undefined) this.#update(worker, sourced)
    else if (sourced !== undefined && this.#signal !== undefined) this.#start(sourced, this.#signal)
  }

  #update(worker: PodWorker, sourced: SourcedPod | undefined): void {
    const allocation = sourced && this.#allocate(sourced, worker)
    worker.update(allocation?.sourced, allocation?.pendingResize)
    this.#retryDeferredResizes()
  }

  /** Static pods are not resized: a changed manifest is a new pod. */
  #allocate(sourced: SourcedPod, worker: PodWorker): Allocation {
    if (sourced.isStatic) return { sourced }
    const { pod } = sourced
    const { allocatable } = this.#options.dependencies.machine()
    const allocated = worker.pod
    const pendingResize = planResize({ pod, allocated, allocatable, otherPods: this.#otherPods(pod) })
    if (pendingResize === undefined) return { sourced }
    return { sourced: { ...sourced, pod: withAllocatedResources(pod, allocated) }, pendingResize }
  }

  /** Any change of a pod may release what the resize of another one waits for. */
  #retryDeferredResizes(): void {
    const deferred = this.all().filter(({ pendingResize }) => pendingResize?.reason === 'Deferred')
    if (deferred.length === 0) return
    const inOrder = deferred.toSorted((left, right) => {
      return compareDeferredResizes(deferredResizeOf(left), deferredResizeOf(right))
    })
    for (const worker of inOrder) {
      const sourced = this.#options.sources.get(worker.uid)
      if (sourced === undefined) continue
      const allocation = this.#allocate(sourced, worker)
      if (allocation.pendingResize === undefined) worker.update(allocation.sourced)
    }
  }

  /** Pods that hold resources of the node. */
  #otherPods({ metadata: { uid } }: KubeletPod): readonly KubeletPod[] {
    return this.all()
      .filter(worker => worker.isActive && worker.uid !== uid)
      .map(worker => worker.pod)
  }

  #start(given: SourcedPod, signal: AbortSignal): void {
    const { dependencies, onChange } = this.#options
    const { sourced, pendingResize } = startAllocation(given)
    const { pod, isStatic } = sourced
    // A changed manifest is a new pod of the same name, which starts only after the old one is cleaned up.
    if (isStatic && this.#isTaken(pod)) return
    const uid = pod.metadata.uid
    const { namespace, name } = pod.metadata
    const seenMs = this.#options.sources.firstSeenMs(uid)
    const worker = new PodWorker({
      dependencies,
      sourced,
      pendingResize,
      seenMs,
      onChange: () => {
        onChange(uid)
        this.#retryDeferredResizes()
      },
    })
    dependencies.metrics.pods.containersPerPod.observe(pod.spec?.containers.length ?? 0)
    dependencies.startup.begin(pod)
    const startedMs = dependencies.platform.clock.now()
    const beganMs = dependencies.platform.clock.monotonicMs()
    const rejection = this.#rejection(sourced)
    const durationMs = dependencies.platform.clock.monotonicMs() - beganMs
    worker.steps.add({ name: 'admit', startedMs, durationMs })
    if (rejection !== undefined) {
      dependencies.platform.log.info('Pod admission denied', { namespace, pod: name, uid, ...rejection })
      dependencies.recorder.record(pod, { type: 'Warning', ...rejection })
      worker.fail(rejection, { isRejected: true })
      dependencies.metrics.pods.admissionRejections.with(rejectionLabel(rejection.reason)).add()
    } else dependencies.platform.log.info('Pod admitted', { namespace, pod: name, uid })
    this.#workers.set(uid, worker)
    this.#options.onAdd()
    void this.#run(worker, signal)
  }

  async #run(worker: PodWorker, signal: AbortSignal): Promise<void> {
    await worker.run(signal)
    if (signal.aborted) return
    this.#workers.delete(worker.uid)
    this.#options.onGone(worker.pod)
    this.#retryDeferredResizes()
    // Starts a replacement that waited for the name, or a pod that was added again with the same UID.
    for (const { pod } of this.#options.sources.all()) {
      const uid = pod.metadata.uid
      if (keyOf(pod) !== keyOf(worker.pod) || this.#workers.has(uid)) continue
      if (uid === worker.uid) this.#countRestart(worker)
      this.#sync(uid)
    }
  }

  #countRestart({ isStatic }: PodWorker): void {
    this.#options.dependencies.metrics.pods.restarted.with(isStatic ? 'true' : '').add()
  }

  #isTaken(pod: KubeletPod): boolean {
    return this.all().some(worker => keyOf(worker.pod) === keyOf(pod))
  }

  /** A pod that was admitted once is not checked again, even if the node has changed. */
  #rejection({ pod, isStatic }: SourcedPod): ReturnType<typeof admitPod> {
    const { dependencies, node, pressures } = this.#options
    const { startTime, phase } = pod.status ?? {}
    if (startTime !== undefined || isTerminal(phase) || isBeingDeleted(pod)) return undefined
    return admitPod({
      pod,
      isStatic,
      node: node(),
      allocatable: dependencies.machine().allocatable,
      pressures: pressures(),
      allowedUnsafeSysctls: dependencies.node.allowedUnsafeSysctls,
      otherPods: this.#otherPods(pod),
    })
  }
}

interface Allocation {
  /** With the resources that are allocated to the pod. */
  readonly sourced: SourcedPod
  readonly pendingResize?: PendingResize | undefined
}

/** A resize that was pending when the kubelet stopped is still pending. */
function startAllocation(sourced: SourcedPod): Allocation {
  if (sourced.isStatic) return { sourced }
  const pod = allocatedAtStart(sourced.pod)
  if (pod === undefined) return { sourced }
  return { sourced: { ...sourced, pod }, pendingResize: pendingResizeOf(sourced.pod.status) }
}

function deferredResizeOf(worker: PodWorker): DeferredResize {
  return { pod: worker.pod, sinceMs: worker.resizePendingSinceMs }
}

/** Reasons with a label value of their own: those that admission has, but for names of resources. */
const rejectionReasons: ReadonlySet<string> = new Set([
  'Evicted',
  'OutOfcpu',
  'OutOfephemeral-storage',
  'OutOfmemory',
  'OutOfpods',
  'PodOSNotSupported',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'SupplementalGroupsPolicyNotSupported',
  'SysctlForbidden',
])

function rejectionLabel(reason: string): string {
  if (rejectionReasons.has(reason)) return reason
  return reason.startsWith('OutOf') ? 'OutOfExtendedResources' : 'Other'
}

function ageOf({ pod }: SourcedPod): string {
  return pod.metadata.creationTimestamp ?? ''
}
