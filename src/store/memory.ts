/** The in-memory store: nothing survives the process. Its size has a quota, since the memory of a machine ends. */
import type { Platform } from '#/platform/platform.ts'
import { Alarms } from './alarms.ts'
import { History } from './local/history.ts'
import { LocalStore, type LocalStoreOptions, type WriteSpace } from './local/local-store.ts'
import type { Version } from './local/version.ts'

export interface MemoryStoreOptions {
  readonly platform: Platform
  /** Maximum size of all objects and their history; at the quota, only deletions are accepted. 0 means no quota. */
  readonly quotaBytes?: number
}

export class MemoryStore extends LocalStore {
  /** Size of all objects and their history, and its limit. */
  readonly space: Pick<MemorySpace, 'usedBytes' | 'quotaBytes'>

  private constructor(options: LocalStoreOptions & { readonly space: MemorySpace }) {
    super(options)
    this.space = options.space
  }

  static async open({ platform, quotaBytes = 0 }: MemoryStoreOptions): Promise<MemoryStore> {
    const alarms = new Alarms(platform)
    const space = new MemorySpace(quotaBytes, alarms)
    return new MemoryStore({ platform, history: new History(), alarms, space })
  }
}

/** Counts the bytes of all versions in the history. */
class MemorySpace implements WriteSpace {
  readonly quotaBytes: number
  readonly #alarms: Alarms
  #usedBytes = 0

  constructor(quotaBytes: number, alarms: Alarms) {
    this.quotaBytes = quotaBytes
    this.#alarms = alarms
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  admits(sizeBytes: number): boolean {
    return this.quotaBytes === 0 || this.#usedBytes + sizeBytes <= this.quotaBytes
  }

  async recheck(sizeBytes: number): Promise<boolean> {
    const isAdmitted = this.admits(sizeBytes)
    if (!isAdmitted) this.noteFull()
    return isAdmitted
  }

  noteFull(): void {
    const used = `${this.#usedBytes} of ${this.quotaBytes} bytes`
    this.#alarms.raise('NOSPACE', `the store has reached its quota: ${used} are in use`)
  }

  committed(versions: readonly Version[]): void {
    for (const version of versions) this.#usedBytes += sizeOf(version)
  }

  discarded(versions: readonly Version[]): void {
    for (const version of versions) this.#usedBytes -= sizeOf(version)
    if (this.#usedBytes <= this.quotaBytes * clearedShare) this.#alarms.clear('NOSPACE')
  }
}

function sizeOf({ key, value, note }: Version): number {
  return versionBytes + key.length + (value?.length ?? 0) + (note?.length ?? 0)
}

/** Of a version without its key, value and note: objects and their places in maps. */
const versionBytes = 250

/** Part of the quota below which the alarm is cleared, so that it does not change with every write. */
const clearedShare = 0.95
