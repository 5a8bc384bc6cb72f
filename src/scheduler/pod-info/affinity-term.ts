import type { Pod, PodAffinityTerm } from '#/api/generated/core/v1.ts'
import { compileLabelSelector, type Selector } from '#/api/selector.ts'

/**
 * A pod affinity term: the selected pods and the topology key. The API server has merged matchLabelKeys into
 * the selector.
 */
export interface AffinityTerm {
  readonly topologyKey: string
  /** Namespace names; empty if only the namespace selector decides. */
  readonly namespaces: ReadonlySet<string>
  /** Undefined if it selects no namespace. */
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
