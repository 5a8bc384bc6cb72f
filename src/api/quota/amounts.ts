/** Arithmetic on resource amounts for quotas. */
import type { Amounts } from '../core/resource-amounts.ts'
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  isZeroQuantity,
  quantityFromInteger,
  quantitySign,
  subtractQuantities,
  zeroQuantity,
  type Quantity,
} from '../text/quantity.ts'

export { amountsOf, type Amounts } from '../core/resource-amounts.ts'

/** The amount of a single object. */
export const one: Quantity = Object.freeze(quantityFromInteger(1, 'DecimalSI'))

export function addAmounts(left: Amounts, right: Amounts): Amounts {
  const sum = new Map(left)
  for (const [name, amount] of right) sum.set(name, addQuantities(sum.get(name) ?? zeroQuantity, amount))
  return sum
}

/** The increase from `old` to `now`; resources without an increase are omitted. */
export function positiveDifference(now: Amounts, old: Amounts): Amounts {
  const more = new Map<string, Quantity>()
  for (const [name, amount] of now) {
    const difference = subtractQuantities(amount, old.get(name) ?? zeroQuantity)
    if (quantitySign(difference) > 0) more.set(name, difference)
  }
  return more
}

/** The maximum of each resource over all lists. */
export function maxAmounts(lists: readonly Amounts[]): Amounts {
  const most = new Map<string, Quantity>()
  for (const list of lists) {
    for (const [name, amount] of list) {
      const known = most.get(name)
      if (known === undefined || compareQuantities(amount, known) > 0) most.set(name, amount)
    }
  }
  return most
}

export function pick(amounts: Amounts, isWanted: (name: string) => boolean): Amounts {
  return new Map([...amounts].filter(([name]) => isWanted(name)))
}

export function withoutZeros(amounts: Amounts): Amounts {
  return new Map([...amounts].filter(([, amount]) => !isZeroQuantity(amount)))
}

/** As a ResourceList. */
export function toResourceList(amounts: Amounts): Readonly<Record<string, string>> {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]))
}

/** Formatted for messages: `cpu=500m,pods=1`. */
export function formatAmounts(amounts: Amounts): string {
  return Object.entries(toResourceList(amounts))
    .sort(byName)
    .map(([name, text]) => `${name}=${text}`)
    .join(',')
}

function byName([left]: readonly [string, string], [right]: readonly [string, string]): number {
  return left < right ? -1 : 1
}
