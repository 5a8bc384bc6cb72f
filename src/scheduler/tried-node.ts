/**
 * What plugins say of a pod on a node as it is, and as it would be if other pods came or went: nothing but trying out,
 * on values that never change.
 */
import type { FilterCycle, FilterFailure, Refusal } from './framework.ts'
import { nodeInfoOf, withPod, type NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'

export type Filters = FilterFailure['filters']

/** A node, and what plugins have to say of a pod that may come there. */
export interface TriedNode {
  readonly node: NodeInfo
  readonly filters: Filters
}

/** Who wants to come, and for whom room was made on a node. */
export interface TriedBy {
  readonly pod: PodInfo
  readonly nominated: (node: string) => readonly PodInfo[]
}

/**
 * Why a node will not do; undefined when it will. It must do with the pods that room was made for on it, unless they
 * are less important, and without them too: they are not there yet, and may never be.
 */
export function refusalWithNominated(
  node: NodeInfo,
  filters: Filters,
  { pod, nominated }: TriedBy,
): Refusal | undefined {
  const waiting = nominated(node.name)
  if (waiting.length > 0) {
    let crowded = { node, filters }
    for (const other of waiting) if (isBefore(other, pod)) crowded = besides(crowded, other)
    const refusal = crowded.node === node ? undefined : refusalOn(crowded.node, crowded.filters)
    if (refusal !== undefined) return refusal
  }
  return refusalOn(node, filters)
}

/** The same when another pod is there too. */
export function besides(tried: TriedNode, pod: PodInfo): TriedNode {
  const node = withPod(tried.node, pod)
  return { node, filters: changeFilters(tried.filters, cycle => cycle.withPod?.(pod, node)) }
}

/** The same when some of its pods are not there. */
export function without({ node, filters }: TriedNode, gone: readonly PodInfo[]): TriedNode {
  const uids = new Set(gone.map(({ uid }) => uid))
  const rest = nodeInfoOf(
    node.node,
    node.pods.filter(({ uid }) => !uids.has(uid)),
  )
  const left = gone.reduce(
    (changed, pod) => changeFilters(changed, cycle => cycle.withoutPod?.(pod, rest)),
    filters,
  )
  return { node: rest, filters: left }
}

/** Whether room that was made for one pod is to be left free by the other. */
function isBefore(nominated: PodInfo, pod: PodInfo): boolean {
  return nominated.uid !== pod.uid && nominated.priority >= pod.priority
}

/** Why a node will not do, just as it is; undefined when it will. */
function refusalOn(node: NodeInfo, filters: Filters): Refusal | undefined {
  for (const { plugin, cycle } of filters) {
    const refusal = cycle.test(node)
    if (refusal !== undefined) return named(refusal, plugin)
  }
  return undefined
}

/** Plugins give the same refusal for many nodes: it is told whose it is once. */
const namedRefusals = new WeakMap<Refusal, Refusal>()

function named(refusal: Refusal, plugin: string): Refusal {
  const known = namedRefusals.get(refusal)
  if (known?.plugin === plugin) return known
  const made = { ...refusal, plugin }
  namedRefusals.set(refusal, made)
  return made
}

function changeFilters(filters: Filters, change: (cycle: FilterCycle) => FilterCycle | undefined): Filters {
  let changed: Filters[number][] | undefined
  for (const [index, { plugin, cycle }] of filters.entries()) {
    const next = change(cycle)
    if (next === undefined || next === cycle) continue
    changed ??= [...filters]
    changed[index] = { plugin, cycle: next }
  }
  return changed ?? filters
}
