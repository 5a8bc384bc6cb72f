/** Amounts in lists of resources as plain numbers. */
import { quantityMilliValue, quantityValue, tryParseQuantity } from '#/api/quantity.ts'

export type ResourceList = Readonly<Record<string, string>>

/** Whole units, rounded up: bytes of memory, pieces of the rest. 0 when nothing is said. */
export function wholeAmount(list: ResourceList | undefined, name: string): number {
  const quantity = tryParseQuantity(list?.[name] ?? '0')
  return quantity === undefined ? 0 : Number(quantityValue(quantity))
}

/** Thousandths, rounded up: of processors. */
export function milliAmount(list: ResourceList | undefined, name: string): number {
  const quantity = tryParseQuantity(list?.[name] ?? '0')
  return quantity === undefined ? 0 : Number(quantityMilliValue(quantity))
}
