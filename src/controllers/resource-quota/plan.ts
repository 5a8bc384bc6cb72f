/**
 * What the status of a quota is to say. The API server enters what a write will use before the object is there, so more
 * may be entered than anybody can count. It is taken back only when it is sure that nothing comes of it: when an object
 * was seen to go, or when everything was looked at long after the last entry. Otherwise more could be used than is
 * allowed.
 */
import type { ResourceQuota, ResourceQuotaStatus } from '#/api/generated/core/v1.ts'
import { compareQuantities, subtractQuantities, zeroQuantity, type Quantity } from '#/api/quantity.ts'
import { amountsOf, listOf, type Amounts } from '#/api/quota.ts'
import { equalAmounts } from './equal-amounts.ts'

export interface QuotaWorld {
  readonly quota: ResourceQuota
  /** What is used of each resource that can be counted. */
  readonly counted: Amounts
  /** What was used by objects that were seen to go. */
  readonly released: Amounts
  /** Whether nothing can be on its way that was not counted. */
  readonly isSure: boolean
}

export interface QuotaPlan {
  /** Undefined when it is as it should be. */
  readonly status: ResourceQuotaStatus | undefined
  /** Whether more is entered than there is: for what is on its way, or never came. */
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
  return { status: isSame ? undefined : { hard, used: listOf(used) }, hasExcess }
}

/** Undefined when it is not known how much is used, and never was. */
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
