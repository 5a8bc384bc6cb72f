/** Node capacity and allocatable. */
import {
  formatQuantity,
  parseQuantity,
  quantityFromInteger,
  quantitySign,
  quantityToNumber,
  subtractQuantities,
  tryParseQuantity,
  zeroQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import type { ResourceList } from '../resource-amount.ts'

export interface HugePages {
  readonly sizeBytes: number
  readonly count: number
  /** Such as `hugepages-2Mi`. */
  readonly resource: string
}

export interface MachineAmounts {
  readonly processors: number
  readonly memoryBytes: number
  readonly storageBytes: number
  readonly podsMax: number
  readonly hugePages: readonly HugePages[]
}

export function planCapacity(amounts: MachineAmounts): ResourceList {
  const { processors, memoryBytes, storageBytes, podsMax, hugePages } = amounts
  return {
    'cpu': `${processors}`,
    'ephemeral-storage': binary(storageBytes),
    ...Object.fromEntries(
      hugePages.map(({ resource, sizeBytes, count }) => [resource, binary(sizeBytes * count)]),
    ),
    'memory': binary(memoryBytes),
    'pods': `${podsMax}`,
  }
}

/**
 * Capacity minus reserved resources and hard eviction thresholds; memory also minus preallocated huge pages.
 */
export function planAllocatable(
  capacity: ResourceList,
  { systemReserved, evictionHard }: Pick<KubeletConfiguration, 'systemReserved' | 'evictionHard'>,
): ResourceList {
  const kept: readonly (readonly [string, string | undefined, string | undefined])[] = [
    ['cpu', systemReserved['cpu'], undefined],
    ['memory', systemReserved['memory'], evictionHard['memory.available']],
    ['ephemeral-storage', systemReserved['ephemeral-storage'], evictionHard['nodefs.available']],
  ]
  const allocatable = new Map(Object.entries(capacity).map(([name, amount]) => [name, parseQuantity(amount)]))
  for (const [name, ...amounts] of kept) {
    const whole = allocatable.get(name)
    if (whole === undefined) continue
    allocatable.set(
      name,
      amounts.reduce((left, amount) => withoutAmount(left, thresholdOf(amount, whole)), whole),
    )
  }
  for (const [name, amount] of allocatable) {
    const memory = allocatable.get('memory')
    if (name.startsWith('hugepages-') && memory) allocatable.set('memory', withoutAmount(memory, amount))
  }
  return Object.fromEntries([...allocatable].map(([name, amount]) => [name, formatQuantity(amount)]))
}

/** Parses `100Mi`, or `10%` of the whole. */
function thresholdOf(text: string | undefined, whole: Quantity): Quantity {
  if (text === undefined) return zeroQuantity
  if (!text.endsWith('%')) return tryParseQuantity(text) ?? zeroQuantity
  const share = Number(text.slice(0, -1)) / 100
  if (!(share >= 0 && share <= 1)) return zeroQuantity
  return quantityFromInteger(Math.floor(quantityToNumber(whole) * share), whole.format)
}

function withoutAmount(whole: Quantity, kept: Quantity): Quantity {
  const left = subtractQuantities(whole, kept)
  return quantitySign(left) < 0 ? { ...zeroQuantity, format: whole.format } : left
}

function binary(bytes: number): string {
  return formatQuantity(quantityFromInteger(bytes, 'BinarySI'))
}
