import type { Pod, Service } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'

/** Time of the change that caused the last write; used to measure the propagation delay of endpoints. */
export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'

interface Seen {
  readonly created: string
  /** Last transition of the Ready condition, by pod name. */
  readonly pods: ReadonlyMap<string, string>
}

/**
 * Tracks the times of changes that endpoints must follow. Times are API timestamps, which sort as strings.
 */
export class TriggerTimes {
  readonly #seen = new Map<string, Seen>()

  /** Time of the earliest change that was not observed before; undefined if there is none. */
  observe(key: string, { metadata }: Stored<Service>, pods: readonly Stored<Pod>[]): string | undefined {
    const created = metadata.creationTimestamp
    const before = this.#seen.get(key)
    const now = new Map<string, string>()
    let first = before !== undefined && created > before.created ? created : undefined
    for (const pod of pods) {
      const name = pod.metadata.name
      const time = pod.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime
      if (time === undefined) continue
      now.set(name, time)
      if (time > (before?.pods.get(name) ?? '') && (first === undefined || time < first)) first = time
    }
    this.#seen.set(key, { created, pods: now })
    return before === undefined ? created : first
  }

  forget(key: string): void {
    this.#seen.delete(key)
  }
}

/** The annotations with the trigger time set, or removed if undefined. */
export function withTriggerTime(
  annotations: Readonly<Record<string, string>> | undefined,
  time: string | undefined,
): Readonly<Record<string, string>> {
  const { [triggerTimeAnnotation]: _last, ...others } = annotations ?? {}
  return time === undefined ? others : { ...others, [triggerTimeAnnotation]: time }
}
