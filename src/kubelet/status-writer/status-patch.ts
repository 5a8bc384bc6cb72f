import type { PodCondition, PodStatus } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isKubeletCondition } from '../pod-status.ts'

type Patch = Readonly<Record<string, unknown>>

/** Lists with a merge key that have to be replaced as a whole. */
const replaced: ReadonlySet<string> = new Set(['podIPs', 'hostIPs'])

/** Fields owned by other components; conditions are handled separately. */
const foreign: ReadonlySet<string> = new Set([
  'conditions',
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
  'nominatedNodeName',
  'resize',
])

/** Strategic merge patch from `before` to `after`; undefined if nothing changed. */
export function statusPatch(before: PodStatus, after: PodStatus): Patch | undefined {
  const patch: Record<string, unknown> = {}
  const old: Patch = { ...before }
  const wanted: Patch = { ...after }
  for (const key of new Set([...Object.keys(old), ...Object.keys(wanted)])) {
    if (foreign.has(key) || equalJson(old[key], wanted[key])) continue
    patch[key] = changeOf(key, old[key], wanted[key])
  }
  const conditions = changedConditions(before.conditions, after.conditions)
  if (conditions.length > 0) patch['conditions'] = conditions
  return Object.keys(patch).length === 0 ? undefined : patch
}

function changeOf(key: string, before: unknown, after: unknown): unknown {
  if (after === undefined) return null
  if (Array.isArray(after)) return replaced.has(key) ? [{ $patch: 'replace' }, ...after] : after
  return isMap(before) && isMap(after) ? mergeOf(before, after) : after
}

function mergeOf(before: Patch, after: Patch): Patch {
  const merge: Record<string, unknown> = {}
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, wanted] = [before[key], after[key]]
    if (equalJson(old, wanted)) continue
    merge[key] = wanted === undefined ? null : isMap(old) && isMap(wanted) ? mergeOf(old, wanted) : wanted
  }
  return merge
}

function isMap(value: unknown): value is Patch {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Conditions of other components are not patched, because our copy may be outdated. */
function changedConditions(
  before: readonly PodCondition[] = [],
  after: readonly PodCondition[] = [],
): readonly Patch[] {
  const own = after.filter(isKubeletCondition)
  const gone = before.filter(each => isKubeletCondition(each) && !own.some(({ type }) => each.type === type))
  return [
    ...own
      .filter(condition => !equalJson(conditionOf(before, condition.type), condition))
      .map(condition => withoutStale(conditionOf(before, condition.type), condition)),
    ...gone.map(({ type }) => ({ type, $patch: 'delete' })),
  ]
}

function conditionOf(conditions: readonly PodCondition[], type: string): PodCondition | undefined {
  return conditions.find(condition => condition.type === type)
}

/** Fields that are no longer set are removed explicitly. */
function withoutStale(before: PodCondition | undefined, after: PodCondition): Patch {
  const stale = Object.keys(before ?? {}).filter(key => !(key in after))
  return { ...after, ...Object.fromEntries(stale.map(key => [key, null])) }
}

/** True if phase or readiness changed, which clients wait for. */
export function isUrgent(before: PodStatus, after: PodStatus): boolean {
  const isReady = ({ conditions = [] }: PodStatus): boolean => {
    return conditionOf(conditions, 'Ready')?.status === 'True'
  }
  return (before.phase ?? 'Pending') !== after.phase || isReady(before) !== isReady(after)
}
