/**
 * The causes of the next pass over each key of a work queue: the revisions of the changes that added the key, and when
 * it was added first. One entry for each key that is queued; a pass takes it.
 */
import { causesMax } from '#/api/origin.ts'

/** What a pass was caused by. */
export interface PassCause {
  /** Ascending, at most `causesMax`: the latest ones. */
  readonly causes: readonly number[]
  /** Wall time at which the key was added. */
  readonly queuedMs: number
}

interface Entry {
  causes: number[]
  queuedMs: number
  /** The causes are those of the last pass, until there are others. */
  isKept: boolean
}

export class PassCauses {
  readonly #entries = new Map<string, Entry>()

  /** Keys that are queued. */
  get size(): number {
    return this.#entries.size
  }

  /** `queuedMs` is when the key becomes due, `revision` that of the change that adds it, if there is one. */
  add(key: string, queuedMs: number, revision: number | undefined): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) {
      const causes = revision === undefined ? [] : [revision]
      this.#entries.set(key, { causes, queuedMs, isKept: false })
      return
    }
    if (queuedMs < entry.queuedMs) entry.queuedMs = queuedMs
    if (revision !== undefined) addTo(entry, revision)
  }

  /** The causes so far, which stay: the key is queued for another pass. */
  peek(key: string): PassCause | undefined {
    return this.#entries.get(key)
  }

  /** A pass begins. */
  take(key: string): PassCause | undefined {
    const entry = this.#entries.get(key)
    this.#entries.delete(key)
    return entry
  }

  /** The key is added again by the pass itself, which is the cause of the next one unless there are changes. */
  keep(key: string, { causes, queuedMs }: PassCause): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) this.#entries.set(key, { causes: [...causes], queuedMs, isKept: true })
    else if (entry.causes.length === 0) Object.assign(entry, { causes: [...causes], isKept: true })
  }
}

/** Usually the latest of all. */
function addTo(entry: Entry, revision: number): void {
  if (entry.isKept) {
    entry.isKept = false
    entry.causes = []
  }
  const { causes } = entry
  let at = causes.length
  while (at > 0 && causes[at - 1]! > revision) at--
  if (causes[at - 1] === revision) return
  causes.splice(at, 0, revision)
  if (causes.length > causesMax) causes.shift()
}

/** The union of the causes of one pass. */
export function mergeCauses(left: PassCause, right: PassCause | undefined): PassCause {
  if (right === undefined) return left
  const causes = [...new Set([...left.causes, ...right.causes])].toSorted((a, b) => a - b)
  return { causes: causes.slice(-causesMax), queuedMs: Math.min(left.queuedMs, right.queuedMs) }
}
