/**
 * How old a controller's knowledge may be: an informer whose watch has died silently finds out after two minutes and a
 * half, and then has to list anew. Whatever was wanted within that time is what a controller may have gone by.
 */
export const staleMs = 200_000

interface Moment {
  readonly atMs: number
}

/** What something was like, for as long as somebody may still go by it; by the uid of what it was about. */
export class RecentPast<T> {
  readonly #histories = new Map<string, (T & Moment)[]>()

  note(uid: string, nowMs: number, value: T): void {
    const history = this.#histories.get(uid) ?? []
    this.#histories.set(uid, [...since(history, nowMs), { ...value, atMs: nowMs }])
  }

  /** All that was true at some moment not too long ago, oldest first. */
  of(uid: string, nowMs: number): readonly T[] {
    return since(this.#histories.get(uid) ?? [], nowMs)
  }
}

/** What was noted last before the time still held in it. */
function since<T extends Moment>(history: readonly T[], nowMs: number): readonly T[] {
  const first = history.findLastIndex(({ atMs }) => atMs < nowMs - staleMs)
  return history.slice(Math.max(0, first))
}
