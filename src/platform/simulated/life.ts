/**
 * The lifetime of a host between two crashes, or of one process on it. All asynchronous events of a life
 * (timers, messages, disk operations) reach its code through `enter`, so that an ended life receives nothing
 * more, and a stopped one receives them when it continues. Code of an ended life that still runs, because its
 * signal was aborted, has no effect.
 */
import type { Timer } from '../platform.ts'
import type { VirtualTime } from './virtual-time.ts'

/** After a crash no kernel is left to close the connections; after an exit it does. */
export type Ending = 'crash' | 'exit'

export class Life {
  readonly name: string
  readonly #time: VirtualTime
  readonly #controller = new AbortController()
  readonly #timers = new Set<Timer>()
  /** In the order of registration, which is the order of release. */
  readonly #releases = new Set<(ending: Ending) => void>()
  /** Events received while stopped, and until the ones before them were delivered; undefined while running. */
  #held: (() => void)[] | undefined
  #isStopped = false
  #ended = false

  constructor(name: string, time: VirtualTime) {
    this.name = name
    this.#time = time
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Aborted as the last step of the end. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Number of events received while stopped. */
  get heldCount(): number {
    return this.#held?.length ?? 0
  }

  enter(callback: () => void): void {
    if (this.#ended) return
    if (this.#held === undefined) callback()
    else this.#held.push(callback)
  }

  /** Calls back through `enter` after the delay. */
  later(delayMs: number, callback: () => void): Timer {
    if (this.#ended) return { cancel: () => {} }
    let cancelled = false
    const timer = this.#time.schedule(delayMs, () => {
      this.#timers.delete(timer)
      this.enter(() => {
        // It may have been canceled between firing and the continuation of a stopped life.
        if (!cancelled) callback()
      })
    })
    this.#timers.add(timer)
    return {
      cancel: () => {
        cancelled = true
        this.#timers.delete(timer)
        timer.cancel()
      },
    }
  }

  /** Calls back when this life ends, unless the returned function is called before. */
  onEnd(release: (ending: Ending) => void): () => void {
    this.#releases.add(release)
    return () => void this.#releases.delete(release)
  }

  stop(): void {
    if (this.#ended) return
    this.#isStopped = true
    this.#held ??= []
  }

  /** Delivers the held events in their order, each in a turn of its own. */
  goOn(): void {
    if (this.#ended || !this.#isStopped) return
    this.#isStopped = false
    this.#time.schedule(0, () => this.#deliver())
  }

  #deliver(): void {
    if (this.#isStopped || this.#held === undefined) return
    const next = this.#held.shift()
    if (next === undefined) this.#held = undefined
    else {
      this.#time.schedule(0, () => this.#deliver())
      next()
    }
  }

  end(ending: Ending): void {
    if (this.#ended) return
    this.#ended = true
    this.#held = undefined
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
    const releases = [...this.#releases]
    this.#releases.clear()
    for (const release of releases) release(ending)
    this.#controller.abort(new Error(`${this.name} has ended`))
  }
}
