import {
  addQuantities,
  isZeroQuantity,
  quantityMilliValue,
  quantityValue,
  tryParseQuantity,
  zeroQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'

/** Quantities by resource, as in the API. */
export type ResourceTexts = Readonly<Record<string, string>>

export type MeasuredResource = 'cpu' | 'memory' | 'swap'

/** The resources that are shown. */
export function measuredResources(showSwap: boolean | undefined): readonly MeasuredResource[] {
  return showSwap ? ['cpu', 'memory', 'swap'] : ['cpu', 'memory']
}

export type Usage = Readonly<Record<MeasuredResource, Quantity>>

export function usageOf(texts: ResourceTexts = {}): Usage {
  return { cpu: read(texts['cpu']), memory: read(texts['memory']), swap: read(texts['swap']) }
}

function read(text: string | undefined): Quantity {
  return (text === undefined ? undefined : tryParseQuantity(text)) ?? zeroQuantity
}

export function sumOf(usages: readonly Usage[]): Usage {
  return usages.reduce(
    (sum, usage) => ({
      cpu: addQuantities(sum.cpu, usage.cpu),
      memory: addQuantities(sum.memory, usage.memory),
      swap: addQuantities(sum.swap, usage.swap),
    }),
    usageOf(),
  )
}

/** `250m`, `128Mi`. */
export function usageText(resource: MeasuredResource, quantity: Quantity): string {
  return resource === 'cpu' ? `${quantityMilliValue(quantity)}m` : `${quantityValue(quantity) / 1_048_576n}Mi`
}

/** The used part of what is available: `12%`. */
export function percentText(used: Quantity, available: Quantity): string {
  if (isZeroQuantity(available)) return '0%'
  return `${Math.trunc((Number(quantityMilliValue(used)) / Number(quantityMilliValue(available))) * 100)}%`
}

/** The order of `--sort-by`: the largest first, or by name. */
export function compareUsage<T>(sortBy: string, { usage, name }: UsageKeys<T>): (a: T, b: T) => number {
  const bySize = (quantityOf: (usage: Usage) => bigint) => (a: T, b: T) =>
    Number(quantityOf(usage(b)) - quantityOf(usage(a)))
  if (sortBy === 'cpu') return bySize(({ cpu }) => quantityMilliValue(cpu))
  if (sortBy === 'memory') return bySize(({ memory }) => quantityValue(memory))
  return (a, b) => (name(a) === name(b) ? 0 : name(a) < name(b) ? -1 : 1)
}

interface UsageKeys<T> {
  readonly usage: (item: T) => Usage
  readonly name: (item: T) => string
}
