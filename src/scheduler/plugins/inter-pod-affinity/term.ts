import type { Labels } from '#/api/labels.ts'
import type { AffinityTerm, PodInfo } from '../../pod-info.ts'
import type { PodMatcher } from '../pod-counts.ts'
import type { Namespaces } from './namespaces.ts'

/** True if the term selects the pod, in a namespace with these labels. */
export function termMatchesPod(
  term: AffinityTerm,
  pod: PodInfo,
  namespaceLabels: Labels | undefined,
): boolean {
  const { namespaces, namespaceSelector, selector } = term
  const isThere = namespaces.has(pod.namespace) || (namespaceSelector?.matches(namespaceLabels) ?? false)
  return isThere && selector.matches(pod.labels)
}

/** The pods that a term selects, with the current namespace labels. */
export function podMatcherOf(
  { namespaces, namespaceSelector, selector }: AffinityTerm,
  table: Namespaces,
): PodMatcher {
  const selectorKey = selector.selectsNothing ? '-' : selector.toString()
  if (namespaceSelector?.isEmpty) {
    return { key: `*\n${selectorKey}`, matches: ({ labels }) => selector.matches(labels), selector }
  }
  const selected = namespaceSelector === undefined ? undefined : table.selectedBy(namespaceSelector)
  const names = [...namespaces].toSorted().join()
  return {
    key: `${names} ${selected?.id ?? ''}\n${selectorKey}`,
    matches: ({ namespace, labels }) => {
      const isThere = namespaces.has(namespace) || (selected?.names.has(namespace) ?? false)
      return isThere && selector.matches(labels)
    },
    selector,
  }
}

/** The pods that all of these select. */
export function commonMatcher(matchers: readonly PodMatcher[]): PodMatcher {
  const [first] = matchers
  if (first !== undefined && matchers.length === 1) return first
  return {
    key: matchers.map(({ key }) => key).join('\n&\n'),
    matches: pod => matchers.every(matcher => matcher.matches(pod)),
    selector: first?.selector,
  }
}
