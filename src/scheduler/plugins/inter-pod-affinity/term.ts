import type { Labels } from '#/api/labels.ts'
import type { AffinityTerm, PodInfo } from '../../pod-info.ts'
import type { PodKind } from '../pod-counts.ts'
import type { Namespaces } from './namespaces.ts'

/** Whether a term of some pod is about this one, in a namespace with these labels. */
export function isMeant(term: AffinityTerm, pod: PodInfo, namespaceLabels: Labels | undefined): boolean {
  const { namespaces, namespaceSelector, selector } = term
  const isThere = namespaces.has(pod.namespace) || (namespaceSelector?.matches(namespaceLabels) ?? false)
  return isThere && selector.matches(pod.labels)
}

/** The pods that a term is about, as namespaces are labelled now. */
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

/** The pods that all of these are about. */
export function commonKind(kinds: readonly PodKind[]): PodKind {
  const [first] = kinds
  if (first !== undefined && kinds.length === 1) return first
  return {
    key: kinds.map(({ key }) => key).join('\n&\n'),
    isOne: pod => kinds.every(kind => kind.isOne(pod)),
  }
}
