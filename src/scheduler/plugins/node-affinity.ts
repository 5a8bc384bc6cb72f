import { formatFieldErrors } from '#/api/field-error.ts'
import type { Node, NodeAffinity, Pod, PodSpec, PreferredSchedulingTerm } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import {
  compileNodeSelector,
  compileNodeSelectorTerm,
  validateNodeSelector,
  validateNodeSelectorTerm,
  type NodeTest,
} from '#/api/node-selector.ts'
import { selectorFromLabels } from '#/api/selector.ts'
import { type FilterCycle, type PluginFactory, type Refusal, type ScoreCycle, wakeUp } from '../framework.ts'
import { normalize } from './normalize.ts'

const refusal: Refusal = { reason: "node(s) didn't match Pod's node affinity/selector", isFinal: true }
const enforcedRefusal: Refusal = {
  reason: "node(s) didn't match scheduler-enforced node affinity",
  isFinal: true,
}
const conflict: Refusal = { reason: 'pod affinity terms conflict', isFinal: true }

/** Node selectors, required and preferred node affinity, and the `addedAffinity` of the configuration. */
export const nodeAffinity: PluginFactory = (_context, parameters) => {
  const added = readAdded(parameters)
  const enforced = requiredTest(added)
  const addedScore = preferredScore(added?.preferredDuringSchedulingIgnoredDuringExecution)
  const isMatch = (pod: Pod, node: Node): boolean =>
    (enforced?.(node) ?? true) && (podTest(pod)?.(node) ?? true)
  return {
    name: 'NodeAffinity',
    wakeUps: [
      wakeUp({
        resource: nodes,
        on: ['add', 'update'],
        isHelpful: (pod, { before, after }) => {
          return after !== undefined && isMatch(pod, after) && !(before !== undefined && isMatch(pod, before))
        },
      }),
      wakeUp({
        resource: pods,
        on: ['update'],
        isHelpful: (pod, { after }) => after?.metadata?.uid === pod.metadata?.uid,
      }),
    ],
    filter: ({ pod }) => filterCycle(pod, enforced),
    score: ({ pod }): ScoreCycle | undefined => {
      const own = preferredScore(
        pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution,
      )
      if (own === undefined && addedScore === undefined) return undefined
      return { score: ({ node }) => (own?.(node) ?? 0) + (addedScore?.(node) ?? 0), normalize }
    },
  }
}

function filterCycle(pod: Pod, enforced: NodeTest | undefined): FilterCycle | Refusal | undefined {
  const own = podTest(pod)
  if (own === undefined && enforced === undefined) return undefined
  const only = namedNodes(pod)
  if (only?.size === 0) return conflict
  return {
    ...(only && { only }),
    test: ({ node }) => {
      if (enforced !== undefined && !enforced(node)) return enforcedRefusal
      return own === undefined || own(node) ? undefined : refusal
    },
  }
}

/** Throws Error if it is invalid. */
function readAdded(parameters: Readonly<Record<string, unknown>>): NodeAffinity | undefined {
  // The args were decoded against their schema.
  const { addedAffinity: added } = parameters as { readonly addedAffinity?: NodeAffinity }
  const required = added?.requiredDuringSchedulingIgnoredDuringExecution
  const preferred = added?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const field = 'addedAffinity'
  const at = `${field}.preferredDuringSchedulingIgnoredDuringExecution`
  const errors = [
    ...(required === undefined
      ? []
      : validateNodeSelector(`${field}.requiredDuringSchedulingIgnoredDuringExecution`, required)),
    ...preferred.flatMap(({ preference }, index) => {
      return validateNodeSelectorTerm(`${at}[${index}].preference`, preference ?? {})
    }),
  ]
  if (errors.length > 0) throw new Error(formatFieldErrors(errors))
  return added
}

/** Cache per version of the spec: each node event evaluates the tests of all unschedulable pods. */
const podTests = new WeakMap<PodSpec, NodeTest>()

/** Tests the node selector and required node affinity; undefined if the pod has neither. */
export function podTest({ spec }: Pod): NodeTest | undefined {
  const labels = spec?.nodeSelector
  const hasLabels = labels !== undefined && Object.keys(labels).length > 0
  const affinity = spec?.affinity?.nodeAffinity
  if (spec === undefined || (!hasLabels && affinity === undefined)) return undefined
  const known = podTests.get(spec)
  if (known !== undefined) return known
  const required = requiredTest(affinity)
  const selector = hasLabels ? selectorFromLabels(labels) : undefined
  if (required === undefined && selector === undefined) return undefined
  const made: NodeTest = node =>
    (selector?.matches(node.metadata?.labels ?? {}) ?? true) && (required?.(node) ?? true)
  podTests.set(spec, made)
  return made
}

function requiredTest(affinity: NodeAffinity | undefined): NodeTest | undefined {
  const selector = affinity?.requiredDuringSchedulingIgnoredDuringExecution
  return selector === undefined ? undefined : compileNodeSelector(selector)
}

/** The nodes that a pod names, if every term of its affinity does; undefined if other nodes are possible. */
function namedNodes({ spec }: Pod): ReadonlySet<string> | undefined {
  const terms =
    spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  if (terms === undefined || terms.length === 0) return undefined
  const names = new Set<string>()
  for (const { matchFields = [] } of terms) {
    const named = matchFields.filter(({ key, operator }) => key === 'metadata.name' && operator === 'In')
    if (named.length === 0) return undefined
    const [first, ...others] = named.map(({ values = [] }) => new Set(values))
    for (const name of others.reduce((left, right) => left.intersection(right), first!)) names.add(name)
  }
  return names
}

function preferredScore(
  terms: readonly PreferredSchedulingTerm[] | undefined,
): ((node: Node) => number) | undefined {
  if (terms === undefined || terms.length === 0) return undefined
  const compiled = terms
    .filter(({ weight }) => weight !== 0)
    .map(({ weight, preference }) => ({ weight, holds: compileNodeSelectorTerm(preference) }))
  return node => compiled.reduce((sum, { weight, holds }) => (holds(node) ? sum + weight : sum), 0)
}
