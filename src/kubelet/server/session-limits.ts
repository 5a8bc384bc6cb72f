/**
 * Bounds the exec, attach, run and port-forward sessions. Each exec is a process beside the container and several
 * goroutines of its shim; hundreds at once in one pod make shims hang.
 */
const limits = { perPod: 32, perNode: 256 }

export class SessionLimits {
  readonly #byPod = new Map<string, number>()
  #count = 0

  /** Undefined if there are too many sessions. */
  enter(podUid: string): Disposable | undefined {
    const ofPod = this.#byPod.get(podUid) ?? 0
    if (ofPod >= limits.perPod || this.#count >= limits.perNode) return undefined
    this.#byPod.set(podUid, ofPod + 1)
    this.#count++
    return { [Symbol.dispose]: () => this.#leave(podUid) }
  }

  #leave(podUid: string): void {
    const left = this.#byPod.get(podUid)! - 1
    if (left === 0) this.#byPod.delete(podUid)
    else this.#byPod.set(podUid, left)
    this.#count--
  }
}
