/** Sums of container resources. */
import type { Container, PodSpec } from '../generated/core/v1.ts'
import {
  addQuantities,
  compareQuantities,
  tryParseQuantity,
  zeroQuantity,
  type Quantity,
} from '../text/quantity.ts'
import { isSidecar } from './pod-containers.ts'

/** Serialized quantities by resource name. */
export type ResourceList = Readonly<Record<string, string>>
export type Amounts = ReadonlyMap<string, Quantity>

/** Parses a quantity that decoding has already validated. */
export function quantityOf(text: string): Quantity {
  return tryParseQuantity(text) ?? zeroQuantity
}

export function amountsOf(list: ResourceList | undefined): Map<string, Quantity> {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, quantityOf(text)]))
}

/**
 * The maximum needed at any time. Regular containers and sidecars run together; each init container runs
 * alone except for the sidecars started before it.
 */
export function aggregateContainerResources(spec: PodSpec, kind: 'requests' | 'limits'): Amounts {
  const asked = (container: Container): Amounts => amountsOf(container.resources?.[kind])
  const together = new Map<string, Quantity>()
  for (const container of spec.containers ?? []) add(together, asked(container))
  const sidecars = new Map<string, Quantity>()
  const starting = new Map<string, Quantity>()
  for (const container of spec.initContainers ?? []) {
    const own = asked(container)
    if (isSidecar(container)) {
      add(together, own)
      add(sidecars, own)
      raise(starting, sidecars)
    } else {
      raise(starting, add(new Map(own), sidecars))
    }
  }
  return raise(together, starting)
}

function add(amounts: Map<string, Quantity>, more: Amounts): Map<string, Quantity> {
  for (const [name, amount] of more)
    amounts.set(name, addQuantities(amounts.get(name) ?? zeroQuantity, amount))
  return amounts
}

/** Sets each amount to the maximum of both. */
function raise(amounts: Map<string, Quantity>, others: Amounts): Map<string, Quantity> {
  for (const [name, other] of others) {
    const amount = amounts.get(name)
    if (amount === undefined || compareQuantities(other, amount) > 0) amounts.set(name, other)
  }
  return amounts
}
