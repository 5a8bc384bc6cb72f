import { conditionOf } from '#/api/conditions.ts'
import type { Node, Taint } from '#/api/generated/core/v1.ts'

export interface TaintPlan {
  readonly taints: readonly Taint[]
  /** True if a NoExecute taint is to be added and there was none before. */
  readonly isEvicting: boolean
  /** The taints to set until the eviction rate limit allows NoExecute taints. */
  readonly taintsWithoutEviction: readonly Taint[]
}

/** The desired taints of a node. Taints not managed by this controller are kept. */
export function planTaints(
  node: Node,
  { nowText, areEvictionsOff }: { readonly nowText: string; readonly areEvictionsOff: boolean },
): TaintPlan {
  const before = node.spec?.taints ?? []
  const place = noScheduleTaints(node)
  const evict = areEvictionsOff ? [] : noExecuteTaints(node)
  const others = before.filter(taint => !isOurs(taint))
  const known = (wanted: Taint): Taint => {
    return before.find(each => isSame(each, wanted)) ?? { ...wanted, timeAdded: nowText }
  }
  const had = before.filter(taint => taint.effect === 'NoExecute' && isOurs(taint))
  const isEvicting = evict.length > 0 && had.length === 0
  const inOrder = (taints: readonly Taint[]): readonly Taint[] => [
    ...before.filter(taint => taints.some(each => isSame(each, taint))),
    ...taints.filter(taint => !before.some(each => isSame(each, taint))),
  ]
  const placing = [...others, ...place.map(known)]
  return {
    taints: inOrder([...placing, ...evict.map(known)]),
    isEvicting,
    taintsWithoutEviction: inOrder(placing),
  }
}

/** NoSchedule taint by condition type and status. */
const placing: readonly (readonly [string, string, string])[] = [
  ['Ready', 'False', 'node.kubernetes.io/not-ready'],
  ['Ready', 'Unknown', 'node.kubernetes.io/unreachable'],
  ['MemoryPressure', 'True', 'node.kubernetes.io/memory-pressure'],
  ['DiskPressure', 'True', 'node.kubernetes.io/disk-pressure'],
  ['NetworkUnavailable', 'True', 'node.kubernetes.io/network-unavailable'],
  ['PIDPressure', 'True', 'node.kubernetes.io/pid-pressure'],
]

const unschedulableKey = 'node.kubernetes.io/unschedulable'

const ownKeys: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['NoSchedule', new Set([...placing.map(([, , key]) => key), unschedulableKey])],
  ['NoExecute', new Set(['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'])],
])

function isOurs({ key, effect }: Taint): boolean {
  return ownKeys.get(effect)?.has(key) ?? false
}

function noScheduleTaints({ spec, status }: Node): readonly Taint[] {
  const taints = placing
    .filter(([type, value]) => conditionOf(status?.conditions, type)?.status === value)
    .map(([, , key]) => ({ key, effect: 'NoSchedule' }))
  return spec?.unschedulable ? [...taints, { key: unschedulableKey, effect: 'NoSchedule' }] : taints
}

function noExecuteTaints({ status }: Node): readonly Taint[] {
  return placing
    .filter(([type, value]) => type === 'Ready' && conditionOf(status?.conditions, type)?.status === value)
    .map(([, , key]) => ({ key, effect: 'NoExecute' }))
}

function isSame(left: Taint, right: Taint): boolean {
  return left.key === right.key && left.effect === right.effect
}

/** Deprecated labels that mirror the stable ones. */
const olderLabels: readonly (readonly [string, string])[] = [
  ['kubernetes.io/os', 'beta.kubernetes.io/os'],
  ['kubernetes.io/arch', 'beta.kubernetes.io/arch'],
]

/** The labels with the deprecated ones updated; the same object if nothing changes. */
export function reconciledLabels({ metadata }: Node): Readonly<Record<string, string>> | undefined {
  const labels = metadata.labels
  const stale = olderLabels.filter(([name, older]) => {
    return labels?.[name] !== undefined && labels[older] !== labels[name]
  })
  if (stale.length === 0 || labels === undefined) return labels
  return { ...labels, ...Object.fromEntries(stale.map(([name, older]) => [older, labels[name]!])) }
}
