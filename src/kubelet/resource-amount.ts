/** Resource quantities as plain numbers. */
import { quantityMilliValue, quantityValue, tryParseQuantity, type Quantity } from '#/api/text/quantity.ts'

export type ResourceList = Readonly<Record<string, string>>

/** Whole units, rounded up, such as bytes of memory. 0 if absent. */
export function wholeAmount(list: ResourceList | undefined, name: string): number {
  const quantity = tryParseQuantity(list?.[name] ?? '0')
  return quantity === undefined ? 0 : Number(quantityValue(quantity))
}

/** Thousandths, rounded up, such as millicores. 0 if absent. */
export function milliAmount(list: ResourceList | undefined, name: string): number {
  const quantity = tryParseQuantity(list?.[name] ?? '0')
  return quantity === undefined ? 0 : Number(quantityMilliValue(quantity))
}

/** As the kubelet counts a resource of the node: millicores of CPU, otherwise whole units. */
export function countedAmount(name: string, amount: Quantity | undefined): number {
  if (amount === undefined) return 0
  return Number(name === 'cpu' ? quantityMilliValue(amount) : quantityValue(amount))
}

export function countedCapacity(list: ResourceList, name: string): number {
  return (name === 'cpu' ? milliAmount : wholeAmount)(list, name)
}
