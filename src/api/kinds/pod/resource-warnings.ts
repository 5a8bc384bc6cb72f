/** Warnings about resource quantities. */
import { quote } from '../../text/quote.ts'
import { quantityOf, type ResourceList } from '../../core/resource-amounts.ts'

/** Fractions of a byte cannot be allocated. */
export function warningsForFractions(field: string, list: ResourceList | undefined): string[] {
  return ['memory', 'ephemeral-storage', 'storage'].flatMap(name => {
    const text = list?.[name]
    if (text === undefined || quantityOf(text).nanos % 1_000_000_000n === 0n) return []
    return [`${field}[${name}]: fractional byte value ${quote(text)} is invalid, must be an integer`]
  })
}
