import { compareQuantities } from '#/api/text/quantity.ts'
import type { Amounts } from '#/api/quota.ts'

/** Compares by value, independent of the format. */
export function equalAmounts(left: Amounts, right: Amounts): boolean {
  if (left.size !== right.size) return false
  for (const [name, amount] of left) {
    const other = right.get(name)
    if (other === undefined || compareQuantities(amount, other) !== 0) return false
  }
  return true
}
