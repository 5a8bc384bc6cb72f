import type { Pod } from '#/api/generated/core/v1.ts'
import { keyOf, controllerOf, type Stored } from '#/api/metadata.ts'
import { isPodTerminal } from '#/controllers/pods.ts'
import type { Changed } from './world.ts'

interface Ends {
  readonly succeeded: Set<string>
  /** A pod deleted before it has finished counts as failed. */
  readonly failed: Set<string>
}

/** Checks that a job counts each finished pod once and that counts never decrease. */
export class JobCounts {
  readonly #ends = new Map<string, Ends>()

  check({ resourcePrefix, before, after }: Changed): readonly string[] {
    if (resourcePrefix === 'pods') this.#note(before, after)
    if (resourcePrefix !== 'jobs' || after === undefined) return []
    const job = after
    const ends = this.#ends.get(job.metadata.uid)
    const isSame = before?.metadata.uid === job.metadata.uid
    return (['succeeded', 'failed'] as const).flatMap(end => {
      const counted = job.status?.[end] ?? 0
      const had = isSame ? (before?.status?.[end] ?? 0) : 0
      const pending = job.status?.uncountedTerminatedPods?.[end] ?? []
      const there = ends?.[end].size ?? 0
      const what = `job ${keyOf(job)} counts ${counted} pods as ${end}`
      return [
        ...(counted < had ? [`${what}, fewer than ${had} before`] : []),
        ...(counted + pending.length > there
          ? [`${what} and ${pending.length} are uncounted, but only ${there} have`]
          : []),
        ...(new Set(pending).size < pending.length ? [`${what}, and has a duplicate uncounted pod`] : []),
      ]
    })
  }

  #note(before: Stored<Pod> | undefined, after: Stored<Pod> | undefined): void {
    const pod = after ?? before
    const owner = pod && controllerOf(pod)
    if (pod === undefined || owner?.kind !== 'Job') return
    const ends = this.#ends.getOrInsertComputed(owner.uid, () => ({
      succeeded: new Set(),
      failed: new Set(),
    }))
    const { uid, deletionTimestamp } = pod.metadata
    if (pod.status?.phase === 'Succeeded') ends.succeeded.add(uid)
    if (pod.status?.phase === 'Failed') ends.failed.add(uid)
    const isGone = after === undefined || deletionTimestamp !== undefined
    if (isGone && !isPodTerminal(pod)) ends.failed.add(uid)
  }
}
