/** Huge page sizes in the kernel's and in Kubernetes' notation. */
import { tryParseQuantity, quantityValue } from '#/api/text/quantity.ts'
import { wholeAmount, type ResourceList } from './resource-amount.ts'

const prefix = 'hugepages-'
const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** Such as `2MB`, as in cgroup file names; units are powers of 1024. */
export function pageSizeText(sizeBytes: number): string {
  let size = sizeBytes
  let unit = 0
  while (size >= 1024 && size % 1024 === 0 && unit < units.length - 1) {
    size /= 1024
    unit++
  }
  return `${size}${units[unit]}`
}

/** Bytes per page size, keyed by the kernel's notation. */
export function hugePageAmounts(list: ResourceList | undefined): ReadonlyMap<string, number> {
  const amounts = new Map<string, number>()
  for (const name of Object.keys(list ?? {})) {
    const size = name.startsWith(prefix) ? tryParseQuantity(name.slice(prefix.length)) : undefined
    if (size !== undefined) amounts.set(pageSizeText(Number(quantityValue(size))), wholeAmount(list, name))
  }
  return amounts
}

/** Such as `hugepages-2Mi`. */
export function hugePageResource(sizeBytes: number): string {
  return (
    prefix +
    pageSizeText(sizeBytes)
      .replace(/B$/, 'i')
      .replace(/^([0-9]+)i$/, '$1')
  )
}
