/** PodDisruptionBudgets as seen by preemption. */
import type { PodDisruptionBudget } from '#/api/generated/policy/v1.ts'
import { compileLabelSelector, nothing, type Selector } from '#/api/selectors/selector.ts'
import { SelectorError } from '#/api/selectors/selector-error.ts'
import type { PodInfo } from '../../pod-info.ts'

interface Budget {
  readonly selector: Selector
  readonly allowed: number
  /** Pods with an eviction already counted in `allowed`, by name. */
  readonly disrupted: object
}

const none: readonly Budget[] = []

export class DisruptionBudgets {
  readonly #byNamespace: ReadonlyMap<string, readonly Budget[]>
  readonly #ofPods = new Map<PodInfo, readonly Budget[]>()

  constructor(budgets: Iterable<PodDisruptionBudget>) {
    const byNamespace = Map.groupBy(budgets, ({ metadata }) => metadata.namespace ?? '')
    this.#byNamespace = new Map([...byNamespace].map(([namespace, each]) => [namespace, each.map(read)]))
  }

  /** True if a PodDisruptionBudget selects the pod. */
  covers(pod: PodInfo): boolean {
    return this.#of(pod).length > 0
  }

  /** Splits the pods by whether evicting them in order would violate a PodDisruptionBudget. */
  splitByPdbViolation(pods: readonly PodInfo[]): {
    readonly violating: readonly PodInfo[]
    readonly fine: readonly PodInfo[]
  } {
    if (this.#byNamespace.size === 0) return { violating: [], fine: pods }
    const used = new Map<Budget, number>()
    const isFine = new Map(pods.map(pod => [pod, this.#use(pod, used)]))
    return {
      violating: pods.filter(pod => isFine.get(pod) === false),
      fine: pods.filter(pod => isFine.get(pod) === true),
    }
  }

  /** True if all of them can be evicted without a violation. */
  allow(pods: readonly PodInfo[]): boolean {
    return this.splitByPdbViolation(pods).violating.length === 0
  }

  #use(pod: PodInfo, used: Map<Budget, number>): boolean {
    let isFine = true
    for (const budget of this.#of(pod)) {
      const count = (used.get(budget) ?? 0) + 1
      used.set(budget, count)
      isFine &&= count <= budget.allowed
    }
    return isFine
  }

  #of(pod: PodInfo): readonly Budget[] {
    const budgets = this.#byNamespace.get(pod.namespace)
    if (budgets === undefined) return none
    const known = this.#ofPods.get(pod)
    if (known !== undefined) return known
    const name = pod.pod.metadata.name
    const found = budgets.filter(({ selector, disrupted }) => {
      return selector.matches(pod.labels) && !Object.hasOwn(disrupted, name)
    })
    this.#ofPods.set(pod, found)
    return found
  }
}

function read({ spec, status }: PodDisruptionBudget): Budget {
  return {
    selector: selectorOf(spec?.selector),
    allowed: status?.disruptionsAllowed ?? 0,
    disrupted: status?.disruptedPods ?? {},
  }
}

/** An empty or invalid selector selects no pod. */
function selectorOf(said: NonNullable<PodDisruptionBudget['spec']>['selector']): Selector {
  try {
    const selector = compileLabelSelector(said)
    return selector.isEmpty ? nothing : selector
  } catch (error) {
    if (error instanceof SelectorError) return nothing
    throw error
  }
}
