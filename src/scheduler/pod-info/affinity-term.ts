import type { Pod, PodAffinityTerm } from '#/api/generated/core/v1.ts'
import { compileLabelSelector, type Selector } from '#/api/selector.ts'

/** Which pods a term of an affinity is about, and what they must share. Label keys were merged in by the API server. */
export interface AffinityTerm {
  readonly topologyKey: string
  /** The names; empty when only the selector of namespaces says which. */
  readonly namespaces: ReadonlySet<string>
  /** Undefined when it selects none. */
  readonly namespaceSelector: Selector | undefined
  readonly selector: Selector
}

export function compileAffinityTerm(pod: Pod, term: PodAffinityTerm): AffinityTerm {
  const { namespaces = [], namespaceSelector, labelSelector, topologyKey } = term
  const isOwn = namespaces.length === 0 && namespaceSelector === undefined
  return {
    topologyKey,
    namespaces: new Set(isOwn ? [pod.metadata?.namespace ?? ''] : namespaces),
    namespaceSelector: namespaceSelector === undefined ? undefined : compileLabelSelector(namespaceSelector),
    selector: compileLabelSelector(labelSelector),
  }
}
