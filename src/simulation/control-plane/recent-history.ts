/**
 * Maximum age of a controller's informer state: a silently dead watch is detected after two and a half
 * minutes, followed by a relist. Controllers may act on any desired state from within this time.
 */
export const staleMs = 200_000

interface Moment {
  readonly atMs: number
}

/** Recent values by uid, kept as long as a stale controller may act on them. */
export class RecentHistory<T> {
  readonly #histories = new Map<string, (T & Moment)[]>()

  note(uid: string, nowMs: number, value: T): void {
    const history = this.#histories.get(uid) ?? []
    this.#histories.set(uid, [...since(history, nowMs), { ...value, atMs: nowMs }])
  }

  /** All values within `staleMs`, oldest first. */
  of(uid: string, nowMs: number): readonly T[] {
    return since(this.#histories.get(uid) ?? [], nowMs)
  }
}

/** Includes the last value before the window, since it was still valid when the window began. */
function since<T extends Moment>(history: readonly T[], nowMs: number): readonly T[] {
  const first = history.findLastIndex(({ atMs }) => atMs < nowMs - staleMs)
  return history.slice(Math.max(0, first))
}
