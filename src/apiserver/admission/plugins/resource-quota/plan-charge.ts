/** Decides whether quotas admit a write, and computes their usage after it. */
import type { ScopedResourceSelectorRequirement } from '#/api/generated/core/v1.ts'
import { compareQuantities, quantitySign, zeroQuantity } from '#/api/text/quantity.ts'
import {
  addAmounts,
  positiveDifference,
  isInAllScopes,
  pick,
  formatAmounts,
  withoutZeros,
  type Amounts,
  type QuotaEvaluator,
  type QuotaWrite,
} from '#/api/quota.ts'
import type { LimitedResource } from './configuration.ts'

/** A quota with its current usage. */
export interface QuotaState {
  readonly name: string
  readonly scopes: readonly ScopedResourceSelectorRequirement[]
  readonly hard: Amounts
  readonly used: Amounts
}

export interface ChargeOptions {
  readonly evaluator: QuotaEvaluator
  /** Limited resources that match the resource of the write. */
  readonly limitedResources: readonly LimitedResource[]
  /** matchScopes of all limited resources. */
  readonly limitedScopes: readonly ScopedResourceSelectorRequirement[]
  readonly nowMs: number
}

/** The usage of each quota after the write, in the order of the quotas, or the reason for the rejection. */
export type Charge = { readonly used: readonly Amounts[] } | { readonly refusal: string }

export function planCharge(quotas: readonly QuotaState[], write: QuotaWrite, options: ChargeOptions): Charge {
  const { evaluator, nowMs } = options
  const { object, oldObject, subresource } = write
  const concerned = quotas.filter(quota => isConcerned(evaluator, quota, object))
  for (const quota of concerned) {
    const why = checkStatus(evaluator, quota, object)
    if (why !== undefined) return { refusal: why }
  }
  const usage = evaluator.usage(object, nowMs)
  const negative = [...usage].filter(([, amount]) => quantitySign(amount) < 0).map(([name]) => name)
  if (negative.length > 0)
    return { refusal: `quota usage is negative for resource(s): ${negative.sort().join(',')}` }
  const more = oldObject ? positiveDifference(usage, evaluator.usage(oldObject, nowMs)) : withoutZeros(usage)
  // If an update moves the object into the scope of a quota, its whole usage is charged there.
  const chargeOf = (quota: QuotaState): Amounts =>
    oldObject && !isConcerned(evaluator, quota, oldObject) ? withoutZeros(usage) : more
  const unchanged = { used: quotas.map(quota => quota.used) }
  const isFree =
    concerned.length === 0 ? more.size === 0 : concerned.every(quota => chargeOf(quota).size === 0)
  if (isFree) return unchanged
  const uncovered = checkLimitedResources({ quotas, concerned, write, usage }, options)
  if (uncovered !== undefined) return { refusal: uncovered }
  const used: Amounts[] = []
  for (const quota of quotas) {
    const requested = concerned.includes(quota) ? pick(chargeOf(quota), name => quota.hard.has(name)) : none
    const total = addAmounts(quota.used, requested)
    const refusal = subresource === 'status' ? undefined : checkHardLimits(quota, requested, total)
    if (refusal !== undefined) return { refusal }
    used.push(requested.size === 0 ? quota.used : total)
  }
  return { used }
}

const none: Amounts = new Map()

function isConcerned(
  evaluator: QuotaEvaluator,
  { hard, scopes }: QuotaState,
  object: QuotaWrite['object'],
): boolean {
  for (const name of hard.keys())
    if (evaluator.matchesResource(name)) return isInAllScopes(evaluator, object, scopes)
  return false
}

function countedOf(evaluator: QuotaEvaluator, { hard }: QuotaState): readonly string[] {
  return [...hard.keys()].filter(name => evaluator.matchesResource(name)).sort()
}

function checkStatus(
  evaluator: QuotaEvaluator,
  quota: QuotaState,
  object: QuotaWrite['object'],
): string | undefined {
  const resources = countedOf(evaluator, quota)
  const missing = evaluator.constraints?.(object, resources)
  if (missing !== undefined) return `failed quota: ${quota.name}: ${missing}`
  if (resources.every(name => quota.used.has(name))) return undefined
  return `status unknown for quota: ${quota.name}, resources: ${resources.join(',')}`
}

interface Coverage {
  readonly quotas: readonly QuotaState[]
  readonly concerned: readonly QuotaState[]
  readonly write: QuotaWrite
  readonly usage: Amounts
}

/** Limited resources may be consumed only if a quota covers them. */
function checkLimitedResources(
  { quotas, concerned, write, usage }: Coverage,
  options: ChargeOptions,
): string | undefined {
  const { evaluator, limitedResources, limitedScopes } = options
  if (limitedResources.length === 0 && limitedScopes.length === 0) return undefined
  const covered = new Set(concerned.flatMap(quota => countedOf(evaluator, quota)))
  const uncovered = [...usage].filter(
    ([name, amount]) =>
      quantitySign(amount) > 0 &&
      !covered.has(name) &&
      limitedResources.some(({ matchContains }) => matchContains.some(part => name.includes(part))),
  )
  if (uncovered.length > 0)
    return `insufficient quota to consume: ${uncovered
      .map(([name]) => name)
      .sort()
      .join(',')}`
  const isIn = (scope: ScopedResourceSelectorRequirement): boolean =>
    evaluator.matchesScope(write.object, scope)
  const allowed = new Set(quotas.flatMap(quota => quota.scopes.filter(isIn)).map(scope => scope.scopeName))
  const scopes = limitedScopes.filter(scope => isIn(scope) && !allowed.has(scope.scopeName))
  if (scopes.length === 0) return undefined
  const shown = scopes.map(
    ({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(' ')}]}`,
  )
  return `insufficient quota to match these scopes: [${shown.join(' ')}]`
}

function checkHardLimits(
  { name, hard, used }: QuotaState,
  requested: Amounts,
  total: Amounts,
): string | undefined {
  const exceeded = new Set(
    [...requested.keys()].filter(resource => {
      return compareQuantities(total.get(resource) ?? zeroQuantity, hard.get(resource) ?? zeroQuantity) > 0
    }),
  )
  if (exceeded.size === 0) return undefined
  const show = (amounts: Amounts): string => formatAmounts(pick(amounts, resource => exceeded.has(resource)))
  return `exceeded quota: ${name}, requested: ${show(requested)}, used: ${show(used)}, limited: ${show(hard)}`
}
