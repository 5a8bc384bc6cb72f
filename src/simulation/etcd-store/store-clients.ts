/** Clients of one store, which write, read, list and compact concurrently. Each written value is unique. */
import type { Clock, Random } from '#/platform/platform.ts'
import type { Entry, Store, WriteResult } from '#/store/store.ts'
import { isReason, type AnswerChecker, type WriteAttempt } from './answer-checker.ts'

export interface StoreClientOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** Aborted when the host of the store crashes. */
  readonly signal: AbortSignal
  readonly checker: AnswerChecker
  /** Of the host. */
  readonly name: string
}

export const prefix = '/registry/things/'

const clientCount = 4
const keyCount = 6
const pauseMs = 1_500
const ttlMs = 3_000
/** Long enough that keys share a lease and expire together. */
const sharedTtlMs = 20_000

export class StoreClients {
  readonly #options: StoreClientOptions
  #written = 0

  constructor(options: StoreClientOptions) {
    this.#options = options
  }

  async run(durationMs: number): Promise<void> {
    const { clock, random, signal } = this.#options
    const endMs = clock.monotonicMs() + durationMs
    const act = async (): Promise<void> => {
      while (clock.monotonicMs() < endMs && !signal.aborted) {
        await clock.sleep(random.integer('pause of a client', pauseMs))
        await this.#act()
      }
    }
    await Promise.all(Array.from({ length: clientCount }, act))
  }

  async #act(): Promise<void> {
    const { random } = this.#options
    const what = random.integer('act of a client', 20)
    if (what === 0) return this.#compact()
    if (what < 3) return this.#list()
    if (what < 5) return this.#revision()
    if (what === 5) return void (await Promise.all([this.#createEvent(), this.#createEvent()]))
    const key = `${prefix}${random.integer('key', keyCount)}`
    const current = await this.#read(key)
    if (current !== 'failed' && what >= 8) await this.#write(key, current)
  }

  async #write(key: string, current: Entry | undefined): Promise<void> {
    const { store, random, name } = this.#options
    const isDeletion = current !== undefined && random.integer('deletion', 3) === 0
    const value = isDeletion ? undefined : `${name} ${random.integer('value', 1e9)} ${this.#written++}`
    const note = random.integer('note', 4) === 0 ? '' : `${name} note ${this.#written++}`
    const attempt: WriteAttempt = { key, value, note, expectedRevision: current?.revision ?? 0 }
    const { expectedRevision } = attempt
    const noted = note === '' ? {} : { note: Buffer.from(note) }
    const options = { ...noted, ...(random.integer('ttl', 4) === 0 && { ttlMs }) }
    const bytes = Buffer.from(value ?? '')
    await this.#attempt(attempt, () => {
      if (isDeletion) return store.delete(key, { ...noted, expectedRevision })
      return current
        ? store.update(key, bytes, { ...options, expectedRevision })
        : store.create(key, bytes, options)
    })
  }

  /** Creates a key that nothing else writes. */
  async #createEvent(): Promise<void> {
    const { store, name, random } = this.#options
    const value = `${name} event ${random.integer('event', 1e9)} ${this.#written++}`
    const key = `${prefix}${value.replaceAll(' ', '-')}`
    const attempt = { key, value, note: '', expectedRevision: 0 }
    await this.#attempt(attempt, () => store.create(key, Buffer.from(value), { ttlMs: sharedTtlMs }))
  }

  async #attempt(attempt: WriteAttempt, write: () => Promise<WriteResult>): Promise<void> {
    const { checker } = this.#options
    try {
      const { answer, span } = await checker.span(write)
      checker.written(attempt, answer, span)
    } catch (error) {
      checker.writeFailed(attempt, error)
    }
  }

  async #read(key: string): Promise<Entry | 'failed' | undefined> {
    const { store, checker } = this.#options
    try {
      const { answer, span } = await checker.span(() => store.get(key))
      checker.read(key, answer, span)
      return answer
    } catch (error) {
      checker.readFailed(`read of ${key}`, error)
      return 'failed'
    }
  }

  async #list(): Promise<void> {
    const { store, checker, random } = this.#options
    const limit = 1 + random.integer('limit', keyCount)
    try {
      const { answer, span } = await checker.span(() => store.list({ prefix, limit }))
      checker.listed(prefix, answer, span)
    } catch (error) {
      checker.readFailed('list', error)
    }
  }

  async #revision(): Promise<void> {
    const { store, checker } = this.#options
    try {
      const { answer, span } = await checker.span(() => store.revision())
      checker.revision(answer, span)
    } catch (error) {
      checker.readFailed('revision', error)
    }
  }

  async #compact(): Promise<void> {
    const { store, checker, random } = this.#options
    try {
      const revision = await store.revision()
      await store.compact(Math.max(1, revision - random.integer('history kept', 20)))
      const compacted = await store.compactedRevision()
      if (compacted > checker.newestRevision) checker.report(`compacted at the future revision ${compacted}`)
    } catch (error) {
      if (!isReason(error, 'compacted')) checker.readFailed('compaction', error)
    }
  }
}
