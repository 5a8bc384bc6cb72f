/** Watchers of one store, some of them slow. Each expects every event after its revision, once and in order. */
import type { StoreEvent, Watch, WatchBatch } from '#/store/store.ts'
import { isReason, show } from './answer-checker.ts'
import { prefix, type StoreClientOptions } from './store-clients.ts'

const watcherCount = 3

/** Longest pause of a slow watcher between two batches. */
const slownessMs = 3_000

/** A watch is replaced by one that resumes after one in this many batches. */
const resumedOneIn = 30

export class StoreWatchers {
  readonly #options: StoreClientOptions
  readonly #watchers: StoreWatcher[] = []

  constructor(options: StoreClientOptions) {
    this.#options = options
  }

  start(): void {
    for (let number = 0; number < watcherCount; number++) {
      const watcher = new StoreWatcher(this.#options, `watch ${number} of ${this.#options.name}`)
      this.#watchers.push(watcher)
      void watcher.run(number === 0 ? slownessMs : 0)
    }
  }

  /** Watches that have not reached the newest revision. */
  behind(): readonly string[] {
    for (const watcher of this.#watchers) watcher.catchUp()
    // What another store writes is known to this one only from a request.
    this.#options.store.revision().catch(() => undefined)
    const { newestRevision } = this.#options.checker
    return this.#watchers
      .filter(({ position }) => position < newestRevision)
      .map(
        ({ name, position }) =>
          `${name} stays at ${position}, although ${newestRevision} is the newest revision`,
      )
  }
}

class StoreWatcher {
  readonly name: string
  readonly #options: StoreClientOptions
  #watch: Watch | undefined
  /** All events up to this revision were delivered. */
  #position = 0
  /** The next watch continues at the position. */
  #isResumed = false
  #slownessMs = 0

  constructor(options: StoreClientOptions, name: string) {
    this.#options = options
    this.name = name
  }

  get position(): number {
    return this.#position
  }

  /** Requests progress, and reads without pauses from now on. */
  catchUp(): void {
    this.#slownessMs = 0
    this.#watch?.requestProgress()
  }

  async run(slownessMs: number): Promise<void> {
    const { signal, checker } = this.#options
    this.#slownessMs = slownessMs
    while (!signal.aborted) {
      try {
        if (!this.#isResumed) this.#position = await this.#begin()
        await this.#follow()
        this.#isResumed = true
      } catch (error) {
        this.#isResumed = false
        if (isReason(error, 'compacted')) checker.compacted(this.name, this.#position)
        else if (!isReason(error, 'unavailable')) throw error
      }
    }
  }

  async #begin(): Promise<number> {
    const { store, random, clock } = this.#options
    await clock.sleep(random.integer('pause before a watch', 1_000))
    const revision = await store.revision()
    return Math.max(0, revision - random.integer('watched history', 10))
  }

  /** Until the watch fails, or is to be resumed. */
  async #follow(): Promise<void> {
    const { store, signal, random, clock } = this.#options
    this.#watch = store.watch({ prefix, afterRevision: this.#position, signal })
    for await (const batch of this.#watch) {
      this.#check(batch)
      if (this.#slownessMs > 0) await clock.sleep(random.integer('slowness of a watch', this.#slownessMs))
      if (random.integer('end of a watch', resumedOneIn) === 0) return
    }
  }

  #check({ revision, events }: WatchBatch): void {
    const { checker } = this.#options
    if (revision > checker.newestRevision)
      checker.report(`${this.name} is at the future revision ${revision}`)
    if (revision < this.#position)
      checker.report(`${this.name} goes back from ${this.#position} to ${revision}`)
    const expected = checker.eventsBetween(prefix, this.#position, revision)
    const [is, want] = [showAll(events), showAll(expected)]
    if (is !== want)
      checker.report(`${this.name} from ${this.#position} to ${revision} gets ${is}, not ${want}`)
    this.#position = Math.max(this.#position, revision)
  }
}

function showAll(events: readonly StoreEvent[]): string {
  return events.length === 0 ? 'nothing' : events.map(show).join()
}
