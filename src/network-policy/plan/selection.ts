import type { Labels } from '#/api/labels.ts'
import { SelectorError } from '#/api/selectors/selector-error.ts'
import {
  compileLabelSelector,
  everything,
  nothing,
  type LabelSelector,
  type Selector,
} from '#/api/selectors/selector.ts'

/** The pods of one namespace, or of all that a selector matches, which a further selector matches. */
export interface Selection {
  /** The same for equal selections. */
  readonly key: string
  /** Undefined if `namespaceSelector` decides. */
  readonly namespace: string | undefined
  readonly namespaceSelector: Selector
  readonly podSelector: Selector
}

interface Selectors {
  readonly namespace: string
  /** The namespace of the policy when absent. */
  readonly namespaceSelector?: LabelSelector | undefined
  /** All pods when absent. */
  readonly podSelector?: LabelSelector | undefined
}

export function selectionOf({ namespace, namespaceSelector, podSelector }: Selectors): Selection {
  const namespaces = compile(namespaceSelector)
  const pods = compile(podSelector)
  const where = namespaceSelector ? `namespaces(${textOf(namespaces)})` : `namespace ${namespace}`
  return {
    key: `pods(${textOf(pods)}) in ${where}`,
    namespace: namespaceSelector ? undefined : namespace,
    namespaceSelector: namespaces,
    podSelector: pods,
  }
}

export interface LabeledPod {
  readonly namespace: string
  readonly labels: Labels | undefined
}

export function selectionMatches(
  selection: Selection,
  pod: LabeledPod,
  namespaceLabels: Labels | undefined,
): boolean {
  const { namespace, podSelector } = selection
  const isThere =
    namespace === undefined ? namespaceMatches(selection, namespaceLabels) : namespace === pod.namespace
  return isThere && podSelector.matches(pod.labels)
}

/** A namespace that is not known yet does not match, although it might lack the labels that a selector excludes. */
export function namespaceMatches({ namespaceSelector }: Selection, labels: Labels | undefined): boolean {
  return labels !== undefined && namespaceSelector.matches(labels)
}

/** An invalid selector, which validation does not admit, matches nothing. */
function compile(selector: LabelSelector | undefined): Selector {
  if (selector === undefined) return everything
  try {
    return compileLabelSelector(selector)
  } catch (error) {
    if (error instanceof SelectorError) return nothing
    throw error
  }
}

function textOf(selector: Selector): string {
  return selector.selectsNothing ? '<none>' : selector.toString()
}
