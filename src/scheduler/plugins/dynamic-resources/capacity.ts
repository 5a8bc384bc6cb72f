/**
 * Consumable capacity: how much of each capacity of a device a request consumes, under the device's request
 * policy.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#consumable-capacity
 */
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  Device,
  DeviceCapacity,
} from '#/api/generated/resource/v1.ts'
import {
  compareQuantities,
  quantityFromInteger,
  quantityValue,
  tryParseQuantity,
  zeroQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import type { ConsumedNanos } from './allocated-devices.ts'

export type CapacityRequests = Readonly<Record<string, string>>

/**
 * The consumed amount of each capacity; undefined if the device lacks a requested capacity or not enough is
 * left.
 */
export function takeCapacity(
  { capacity = {} }: Device,
  requests: CapacityRequests,
  used: readonly ConsumedNanos[],
): ReadonlyMap<string, Quantity> | undefined {
  if (Object.keys(requests).some(name => !Object.hasOwn(capacity, name))) return undefined
  const taken = new Map<string, Quantity>()
  for (const [name, has] of Object.entries(capacity)) {
    const wanted = Object.hasOwn(requests, name) ? amountOf(requests[name]) : undefined
    const amount = wanted === undefined ? usualAmount(has) : roundedUp(wanted, has.requestPolicy)
    if (isAgainst(amount, has.requestPolicy)) return undefined
    const nanos = used.reduce((sum, each) => sum + (each.get(name) ?? 0n), amount.nanos)
    if (nanos > amountOf(has.value).nanos) return undefined
    taken.set(name, amount)
  }
  return taken
}

/** The policy's default, or the whole capacity. */
function usualAmount({ requestPolicy, value }: DeviceCapacity): Quantity {
  return amountOf(requestPolicy?.default ?? value)
}

function roundedUp(wanted: Quantity, { validRange, validValues }: CapacityRequestPolicy = {}): Quantity {
  if (validRange !== undefined) return roundedUpInRange(wanted, validRange)
  return validValues?.map(amountOf).find(value => compareQuantities(wanted, value) <= 0) ?? wanted
}

function roundedUpInRange(wanted: Quantity, { min, step }: CapacityRequestPolicyRange): Quantity {
  const least = amountOf(min)
  if (compareQuantities(wanted, least) < 0) return least
  const stepValue = step === undefined ? 0n : quantityValue(amountOf(step))
  if (stepValue <= 0n) return wanted
  const above = quantityValue(wanted) - quantityValue(least)
  const steps = (above + stepValue - 1n) / stepValue
  return quantityFromInteger(quantityValue(least) + steps * stepValue, 'BinarySI')
}

function isAgainst(amount: Quantity, policy: CapacityRequestPolicy | undefined): boolean {
  if (policy === undefined) return false
  const { default: usual, validRange, validValues = [] } = policy
  if (usual !== undefined && compareQuantities(amount, amountOf(usual)) === 0) return false
  if (validRange !== undefined) {
    const { min, max, step } = validRange
    if (max !== undefined && compareQuantities(amount, amountOf(max)) > 0) return true
    const stepValue = step === undefined ? 0n : quantityValue(amountOf(step))
    return stepValue > 0n && (quantityValue(amount) - quantityValue(amountOf(min))) % stepValue !== 0n
  }
  return (
    validValues.length > 0 && !validValues.some(value => compareQuantities(amount, amountOf(value)) === 0)
  )
}

function amountOf(text: string | undefined): Quantity {
  return (text !== undefined && tryParseQuantity(text)) || zeroQuantity
}
