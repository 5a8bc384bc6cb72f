import { formatFieldErrors } from '#/api/field-error.ts'
import type { Node, NodeAffinity, Pod, PodSpec, PreferredSchedulingTerm } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import {
  compileNodeSelector,
  compileNodeSelectorTerm,
  validateNodeSelector,
  validateNodeSelectorTerm,
  type NodeTest,
} from '#/api/selectors/node-selector.ts'
import { selectorFromLabels } from '#/api/selectors/selector.ts'
import {
  type FilterState,
  type PluginFactory,
  type Unschedulable,
  type ScoreState,
  clusterEventWithHint,
} from '../framework.ts'
import { normalize } from './normalize.ts'

const unschedulable: Unschedulable = {
  reason: "node(s) didn't match Pod's node affinity/selector",
  isUnresolvable: true,
}
const enforcedUnschedulable: Unschedulable = {
  reason: "node(s) didn't match scheduler-enforced node affinity",
  isUnresolvable: true,
}
const conflict: Unschedulable = { reason: 'pod affinity terms conflict', isUnresolvable: true }

/** Node selectors, required and preferred node affinity, and the `addedAffinity` of the configuration. */
export const nodeAffinity: PluginFactory = (_handle, args) => {
  const added = readAdded(args)
  const enforced = requiredTest(added)
  const addedScore = preferredScore(added?.preferredDuringSchedulingIgnoredDuringExecution)
  const isMatch = (pod: Pod, node: Node): boolean =>
    (enforced?.(node) ?? true) && (requiredNodeAffinityOf(pod)?.(node) ?? true)
  return {
    name: 'NodeAffinity',
    eventsToRegister: [
      clusterEventWithHint({
        resource: nodes,
        on: ['add', 'update'],
        queueingHint: (pod, { before, after }) => {
          return after !== undefined && isMatch(pod, after) && !(before !== undefined && isMatch(pod, before))
        },
      }),
      clusterEventWithHint({
        resource: pods,
        on: ['update'],
        queueingHint: (pod, { after }) => after?.metadata.uid === pod.metadata.uid,
      }),
    ],
    preFilter: ({ pod }) => filterStateOf(pod, enforced),
    score: ({ pod }): ScoreState | undefined => {
      const own = preferredScore(
        pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution,
      )
      if (own === undefined && addedScore === undefined) return undefined
      return {
        score: ({ node }) => (own?.(node) ?? 0) + (addedScore?.(node) ?? 0),
        normalizeScore: normalize,
      }
    },
  }
}

function filterStateOf(pod: Pod, enforced: NodeTest | undefined): FilterState | Unschedulable | undefined {
  const own = requiredNodeAffinityOf(pod)
  if (own === undefined && enforced === undefined) return undefined
  const only = namedNodes(pod)
  if (only?.size === 0) return conflict
  return {
    ...(only && { preFilterResult: only }),
    filter: ({ node }) => {
      if (enforced !== undefined && !enforced(node)) return enforcedUnschedulable
      return own === undefined || own(node) ? undefined : unschedulable
    },
  }
}

/** Throws Error if it is invalid. */
function readAdded(args: Readonly<Record<string, unknown>>): NodeAffinity | undefined {
  // The args were decoded against their schema.
  const { addedAffinity: added } = args as { readonly addedAffinity?: NodeAffinity }
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
export function requiredNodeAffinityOf({ spec }: Pod): NodeTest | undefined {
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
    (selector?.matches(node.metadata.labels ?? {}) ?? true) && (required?.(node) ?? true)
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
