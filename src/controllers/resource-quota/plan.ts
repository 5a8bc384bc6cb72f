/**
 * Computes the status of a quota. Quota admission charges usage before the object exists, so `used` may
 * exceed what can be counted. It is decreased only if that is safe: when an object was seen to be deleted, or
 * by a full recount long after the last charge. Otherwise the limit could be exceeded.
 */
import type { ResourceQuota, ResourceQuotaStatus } from '#/api/generated/core/v1.ts'
import { compareQuantities, subtractQuantities, zeroQuantity, type Quantity } from '#/api/text/quantity.ts'
import { amountsOf, toResourceList, type Amounts } from '#/api/quota.ts'
import { equalAmounts } from './equal-amounts.ts'

export interface QuotaWorld {
  readonly quota: ResourceQuota
  /** Counted usage by resource. */
  readonly counted: Amounts
  /** Usage of objects that were deleted. */
  readonly released: Amounts
  /** True if no charged request can still be in progress. */
  readonly isSure: boolean
}

export interface QuotaPlan {
  /** Undefined if nothing changes. */
  readonly status: ResourceQuotaStatus | undefined
  /** True if `used` exceeds the counted usage: a request is in progress or has failed. */
  readonly hasExcess: boolean
}

export function planQuota(world: QuotaWorld): QuotaPlan {
  const { quota, counted } = world
  const hard = quota.spec?.hard ?? {}
  const before = amountsOf(quota.status?.used)
  const used = new Map<string, Quantity>()
  let hasExcess = false
  for (const name of Object.keys(hard)) {
    const amount = amountOf(world, name, before.get(name))
    if (amount === undefined) continue
    used.set(name, amount)
    hasExcess ||= compareQuantities(amount, counted.get(name) ?? amount) > 0
  }
  const isSame =
    quota.status?.used !== undefined &&
    equalAmounts(before, used) &&
    equalAmounts(amountsOf(quota.status.hard), amountsOf(hard))
  return { status: isSame ? undefined : { hard, used: toResourceList(used) }, hasExcess }
}

/** Undefined if the usage is unknown and was never recorded. */
function amountOf(
  { counted, released, isSure }: QuotaWorld,
  name: string,
  before: Quantity | undefined,
): Quantity | undefined {
  const real = counted.get(name)
  if (real === undefined || before === undefined || isSure) return real ?? before
  const left = subtractQuantities(before, released.get(name) ?? zeroQuantity)
  return compareQuantities(left, real) > 0 ? left : real
}
