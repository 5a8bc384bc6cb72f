import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, keyOf } from '#/api/metadata.ts'
import { admitPod } from '../admit-pod.ts'
import type { PodParts } from '../pod-parts.ts'
import type { PodSources, SourcedPod } from '../pod-sources.ts'
import { isTerminal } from '../pod-status.ts'
import { PodWorker } from '../pod-worker.ts'

export interface PodWorkersOptions {
  readonly parts: PodParts
  readonly sources: PodSources
  /** As the API has it. */
  readonly node: () => Node | undefined
  /** What the node runs short of. */
  readonly pressures: () => ReadonlySet<string>
  /** Something about this pod is different. */
  readonly onChange: (uid: string) => void
  /** A pod came. */
  readonly onCome: () => void
  /** Nothing is left of this pod. */
  readonly onGone: (pod: Pod) => void
}

/** A worker for each pod that the node has: begun when the pod is seen first, gone when nothing is left of it. */
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

  /** Something happened to the containers of a pod, or may have to those of all. */
  wakeSoon(uid?: string): void {
    if (uid !== undefined) this.#workers.get(uid)?.wakeSoon()
    else for (const worker of this.#workers.values()) worker.wakeSoon()
  }

  /** Takes the pods that there are, in the order in which they were made, and all that come later. */
  begin(signal: AbortSignal): void {
    this.#signal = signal
    const known = this.#options.sources.all().toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1))
    for (const { pod } of known) this.#sync(pod.metadata?.uid ?? '')
  }

  #sync(uid: string): void {
    const sourced = this.#options.sources.get(uid)
    const worker = this.#workers.get(uid)
    if (worker !== undefined) worker.update(sourced)
    else if (sourced !== undefined && this.#signal !== undefined) this.#start(sourced, this.#signal)
  }

  #start(sourced: SourcedPod, signal: AbortSignal): void {
    const { parts, onChange } = this.#options
    const { pod, isStatic } = sourced
    // A manifest that changed is another pod of the same name: it takes the place of the old one, not one beside it.
    if (isStatic && this.#isTaken(pod)) return
    const uid = pod.metadata?.uid ?? ''
    const { namespace, name } = pod.metadata ?? {}
    const worker = new PodWorker({ parts, sourced, onChange: () => onChange(uid) })
    const refusal = this.#refusal(sourced)
    if (refusal !== undefined) {
      parts.platform.log.info('pod is refused', { namespace, pod: name, uid, ...refusal })
      parts.recorder.record(pod, { type: 'Warning', ...refusal })
      worker.fail(refusal, { isRejected: true })
    } else parts.platform.log.info('pod is taken', { namespace, pod: name, uid })
    this.#workers.set(uid, worker)
    this.#options.onCome()
    void this.#run(worker, signal)
  }

  async #run(worker: PodWorker, signal: AbortSignal): Promise<void> {
    await worker.run(signal)
    if (signal.aborted) return
    this.#workers.delete(worker.uid)
    this.#options.onGone(worker.pod)
    // Whoever waited for its place, and a pod that came back under the same uid.
    for (const { pod } of this.#options.sources.all()) {
      const uid = pod.metadata?.uid ?? ''
      if (keyOf(pod) === keyOf(worker.pod) && !this.#workers.has(uid)) this.#sync(uid)
    }
  }

  #isTaken(pod: Pod): boolean {
    return this.all().some(worker => keyOf(worker.pod) === keyOf(pod))
  }

  /** What was taken once stays, whatever has become of the node meanwhile. */
  #refusal({ pod, isStatic }: SourcedPod): ReturnType<typeof admitPod> {
    const { parts, node, pressures } = this.#options
    const { startTime, phase } = pod.status ?? {}
    if (startTime !== undefined || isTerminal(phase) || isBeingDeleted(pod)) return undefined
    const others = this.all()
      .filter(({ isActive }) => isActive)
      .map(worker => worker.pod)
    return admitPod({
      pod,
      isStatic,
      node: node(),
      allocatable: parts.machine().allocatable,
      pressures: pressures(),
      allowedUnsafeSysctls: parts.node.allowedUnsafeSysctls,
      others,
    })
  }
}

function ageOf({ pod }: SourcedPod): string {
  return pod.metadata?.creationTimestamp ?? ''
}
