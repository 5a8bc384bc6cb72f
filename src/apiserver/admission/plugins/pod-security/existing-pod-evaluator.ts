/** Warns about existing pods that violate a namespace's new enforce level. The pods keep running. */
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { controllerOf, type Stored } from '#/api/metadata.ts'
import { listCached } from '../../lookup.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { specOf } from '../pod-spec.ts'
import type { Exemptions } from './configuration.ts'
import { evaluate, formatReasons } from './evaluate.ts'
import { formatLevelVersion, type LevelVersion } from './policy.ts'

/**
 * Bounds on the pods checked and on the time; past either, the warning contains the number of checked pods.
 */
const podsMax = 3_000
const timeMsMax = 1_000

export class ExistingPodEvaluator {
  readonly #context: PluginContext
  readonly #exemptions: Exemptions

  constructor(context: PluginContext, exemptions: Exemptions) {
    this.#context = context
    this.#exemptions = exemptions
  }

  warningsFor(namespace: string, enforce: LevelVersion): readonly string[] {
    const { clock } = this.#context.platform
    const all = this.#differentFirst(listCached(this.#context, pods, namespace))
    const untilMs = clock.monotonicMs() + timeMsMax
    const byReasons = new Map<string, string[]>()
    let checked = 0
    for (const pod of all.slice(0, podsMax)) {
      checked++
      const reasons = formatReasons(evaluate(enforce, { metadata: pod.metadata, spec: specOf(pod) }))
      if (reasons !== '') {
        const names = byReasons.get(reasons) ?? []
        names.push(pod.metadata.name)
        byReasons.set(reasons, names)
      }
      if (clock.monotonicMs() > untilMs) break
    }
    const found = [...byReasons].map(([reasons, names]) => `${namesText(names)}: ${reasons}`).sort()
    if (found.length > 0) {
      const level = formatLevelVersion(enforce)
      found.unshift(
        `existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${level}"`,
      )
    }
    if (checked < all.length) {
      found.unshift(
        `new PodSecurity enforce level only checked against the first ${checked} of ${all.length} existing pods`,
      )
    }
    return found
  }

  /** Pods of the same controller are similar, so one pod of each controller is checked first. */
  #differentFirst(all: readonly Stored<Pod>[]): readonly Stored<Pod>[] {
    const seen = new Set<string>()
    const first: Stored<Pod>[] = []
    const alike: Stored<Pod>[] = []
    for (const pod of all) {
      if (this.#exemptions.runtimeClasses.has(pod.spec?.runtimeClassName ?? '')) continue
      const owner = controllerOf(pod)?.uid
      if (owner !== undefined && seen.has(owner)) {
        alike.push(pod)
        continue
      }
      if (owner !== undefined) seen.add(owner)
      first.push(pod)
    }
    return [...first, ...alike]
  }
}

/** Names the first pod in sort order and counts the others. */
function namesText(names: readonly string[]): string {
  const [first = ''] = names.toSorted()
  const others = names.length - 1
  return others === 0 ? first : `${first} (and ${others} other ${others === 1 ? 'pod' : 'pods'})`
}
