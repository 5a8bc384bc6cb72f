import type { Pod, Service } from '#/api/generated/core/v1.ts'

/** Says since when endpoints should have been as they are now written; others measure delays by it. */
export const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'

interface Seen {
  readonly created: string
  /** When each pod last became ready or ceased to be. */
  readonly pods: ReadonlyMap<string, string>
}

/** When the changes happened that endpoints have to follow. Times are as the API writes them, which sorts them. */
export class TriggerTimes {
  readonly #seen = new Map<string, Seen>()

  /** The first moment at which something happened that was not seen before; undefined when nothing did. */
  observe(key: string, { metadata }: Service, pods: readonly Pod[]): string | undefined {
    const created = metadata?.creationTimestamp ?? ''
    const before = this.#seen.get(key)
    const now = new Map<string, string>()
    let first = before !== undefined && created > before.created ? created : undefined
    for (const pod of pods) {
      const name = pod.metadata?.name ?? ''
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

/** The annotations of something that is written now. */
export function withTriggerTime(
  annotations: Readonly<Record<string, string>> | undefined,
  time: string | undefined,
): Readonly<Record<string, string>> {
  const { [triggerTimeAnnotation]: _last, ...others } = annotations ?? {}
  return time === undefined ? others : { ...others, [triggerTimeAnnotation]: time }
}
