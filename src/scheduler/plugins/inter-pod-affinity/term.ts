import type { Labels } from '#/api/labels.ts'
import type { AffinityTerm, PodInfo } from '../../pod-info.ts'
import type { PodKind } from '../pod-counts.ts'
import type { Namespaces } from './namespaces.ts'

/** True if the term selects the pod, in a namespace with these labels. */
export function isMeant(term: AffinityTerm, pod: PodInfo, namespaceLabels: Labels | undefined): boolean {
  const { namespaces, namespaceSelector, selector } = term
  const isThere = namespaces.has(pod.namespace) || (namespaceSelector?.matches(namespaceLabels) ?? false)
  return isThere && selector.matches(pod.labels)
}

/** The pods that a term selects, with the current namespace labels. */
export function kindOf(
  { namespaces, namespaceSelector, selector }: AffinityTerm,
  table: Namespaces,
): PodKind {
  const selectorKey = selector.selectsNothing ? '-' : selector.toString()
  if (namespaceSelector?.isEmpty) {
    return { key: `*\n${selectorKey}`, isOne: ({ labels }) => selector.matches(labels) }
  }
  const selected = namespaceSelector === undefined ? undefined : table.selectedBy(namespaceSelector)
  const names = [...namespaces].toSorted().join()
  return {
    key: `${names} ${selected?.id ?? ''}\n${selectorKey}`,
    isOne: ({ namespace, labels }) => {
      const isThere = namespaces.has(namespace) || (selected?.names.has(namespace) ?? false)
      return isThere && selector.matches(labels)
    },
  }
}

/** The pods that all of these select. */
export function commonKind(kinds: readonly PodKind[]): PodKind {
  const [first] = kinds
  if (first !== undefined && kinds.length === 1) return first
  return {
    key: kinds.map(({ key }) => key).join('\n&\n'),
    isOne: pod => kinds.every(kind => kind.isOne(pod)),
  }
}
