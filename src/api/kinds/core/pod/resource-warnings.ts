/** What a client should hear about amounts. */
import { quote } from '../../../quote.ts'
import { quantityOf, type ResourceList } from './resource-amounts.ts'

/** Nobody can have half a byte. */
export function warnAboutFractions(field: string, list: ResourceList | undefined): string[] {
  return ['memory', 'ephemeral-storage', 'storage'].flatMap(name => {
    const text = list?.[name]
    if (text === undefined || quantityOf(text).nanos % 1_000_000_000n === 0n) return []
    return [`${field}[${name}]: fractional byte value ${quote(text)} is invalid, must be an integer`]
  })
}
