/** What clients were told, and what a store must therefore have. */
import { StoreError, type Entry, type Store } from '#/store/store.ts'

interface Write {
  readonly key: string
  /** Undefined for a deletion. */
  readonly value: string | undefined
  /** Empty for none. */
  readonly note: string
}

/** A write whose outcome is not known yet, or never. */
export interface Attempt extends Write {
  readonly number: number
  /** 0 when the key is created. */
  readonly expectedRevision: number
}

export class Observations {
  readonly violations: string[] = []
  damagedReads = 0
  /** Acknowledged writes, and those that were found after a crash, by revision. */
  readonly #byRevision = new Map<number, Write>()
  /** The last revision of each key. */
  readonly #newest = new Map<string, number>()
  readonly #pending = new Map<number, Attempt>()
  /** Writes that a crash interrupted: each may have happened. */
  #unknown: Write[] = []
  /** Keys whose last write cannot be determined, because the history is damaged. */
  readonly #uncertain = new Set<string>()
  #attempts = 0
  #lastRevision = 0

  get acknowledgedCount(): number {
    return this.#byRevision.size
  }

  begin(write: Omit<Attempt, 'number'>): Attempt {
    const attempt = { ...write, number: this.#attempts++ }
    this.#pending.set(attempt.number, attempt)
    return attempt
  }

  /** Without a revision the write lost a race and did not happen. */
  end(attempt: Attempt, revision: number | undefined): void {
    this.#pending.delete(attempt.number)
    if (revision === undefined) return
    const { key, expectedRevision } = attempt
    const newest = this.#newest.get(key) ?? 0
    const current = this.#byRevision.get(newest)?.value === undefined ? 0 : newest
    if (current !== expectedRevision && !this.#uncertain.has(key))
      this.violations.push(
        `${key} was written over revision ${expectedRevision}, although it was at ${current}`,
      )
    this.#note(revision, attempt)
  }

  /** A read while no write of the key is pending must return the last one. */
  read(key: string, entry: Entry | undefined): void {
    if ([...this.#pending.values()].some(attempt => attempt.key === key)) return
    this.#compare(key, entry)
  }

  /** All pending writes have an unknown outcome. */
  crash(): void {
    this.#unknown.push(...this.#pending.values())
    this.#pending.clear()
  }

  /** Compares a store that was just opened, before anything is written to it. */
  async check(store: Store): Promise<void> {
    this.crash()
    const revision = await store.revision()
    if (revision < this.#lastRevision)
      this.violations.push(
        `the store opened at revision ${revision}, after ${this.#lastRevision} was acknowledged`,
      )
    const isComplete = await this.#checkHistory(store, revision)
    await this.#checkState(store)
    // What is not in the history did not happen.
    if (isComplete) this.#unknown = []
    this.#lastRevision = Math.max(this.#lastRevision, revision)
  }

  /** False if the history is damaged. */
  async #checkHistory(store: Store, revision: number): Promise<boolean> {
    const compacted = await store.compactedRevision()
    const watch = store.watch({ prefix: '/registry/', afterRevision: compacted })
    watch.requestProgress()
    let last = compacted
    try {
      for await (const { events, revision: reached } of watch) {
        for (const event of events) {
          if (event.revision <= last)
            this.violations.push(`the event of revision ${event.revision} follows ${last}`)
          last = event.revision
          const value = event.type === 'put' ? textOf(event) : undefined
          const note = Buffer.from(event.note ?? '').toString()
          this.#found(event.revision, { key: event.key, value, note })
        }
        if (reached >= revision) break
      }
    } catch (error) {
      this.#expectDamage(error)
      // It is not known which of the unknown writes happened.
      for (const { key } of this.#unknown) this.#uncertain.add(key)
      return false
    }
    for (const [at, { key }] of this.#byRevision) {
      if (at > compacted && at > last)
        this.violations.push(`the acknowledged write of ${key} at ${at} is lost`)
    }
    return true
  }

  /** A write in the history of the store was acknowledged, or its outcome was unknown. */
  #found(revision: number, write: Write): void {
    const known = this.#byRevision.get(revision)
    if (known) {
      if (known.key !== write.key || known.value !== write.value)
        this.violations.push(`revision ${revision} has another content: ${write.key} instead of ${known.key}`)
      else if (known.note !== write.note)
        this.violations.push(`revision ${revision} has the note "${write.note}" instead of "${known.note}"`)
      return
    }
    const index = this.#unknown.findIndex(
      ({ key, value, note }) => key === write.key && value === write.value && note === write.note,
    )
    if (index < 0) this.violations.push(`revision ${revision} of ${write.key} was never written`)
    else this.#unknown.splice(index, 1)
    this.#note(revision, write)
  }

  async #checkState(store: Store): Promise<void> {
    for (const key of this.#newest.keys()) {
      try {
        this.#compare(key, await store.get(key))
      } catch (error) {
        this.#expectDamage(error)
      }
    }
    try {
      const { entries } = await store.list({ prefix: '/registry/' })
      const listed = new Map(entries.map(entry => [entry.key, entry]))
      for (const key of new Set([...this.#newest.keys(), ...listed.keys()]))
        this.#compare(key, listed.get(key))
    } catch (error) {
      this.#expectDamage(error)
    }
  }

  #compare(key: string, entry: Entry | undefined): void {
    if (this.#uncertain.has(key)) return
    const revision = this.#newest.get(key)
    if (revision === undefined) {
      if (entry) this.violations.push(`${key} was never written`)
      return
    }
    const { value } = this.#byRevision.get(revision)!
    if (entry === undefined && value === undefined) return
    if (entry === undefined) this.violations.push(`${key} of revision ${revision} is not there`)
    else if (value === undefined) this.violations.push(`${key} was deleted at ${revision} and is there again`)
    else if (entry.revision !== revision || textOf(entry) !== value)
      this.violations.push(
        `${key} is at revision ${entry.revision} or has a wrong value, written was ${revision}`,
      )
  }

  #note(revision: number, write: Write): void {
    const known = this.#byRevision.get(revision)
    if (known) this.violations.push(`revision ${revision} was given to ${known.key} and to ${write.key}`)
    const { key, value, note } = write
    this.#byRevision.set(revision, { key, value, note })
    this.#newest.set(write.key, Math.max(revision, this.#newest.get(write.key) ?? 0))
    this.#lastRevision = Math.max(this.#lastRevision, revision)
  }

  #expectDamage(error: unknown): void {
    if (!(error instanceof StoreError) || error.reason !== 'damaged') throw error
    this.damagedReads++
  }
}

function textOf({ value }: Pick<Entry, 'value'>): string {
  return Buffer.from(value).toString()
}
