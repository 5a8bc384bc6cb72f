import type { Pod } from '../generated/core/v1.ts'
import { quantityValue, tryParseQuantity, zeroQuantity, type Quantity } from '../text/quantity.ts'

export interface SimulatedUsage {
  readonly nanoCores: number
  readonly memoryBytes: number
}

/**
 * Resource usage of a pod on a simulated node by container name: from the annotations `simulated.k8ts.io/cpu`
 * and `simulated.k8ts.io/memory`, divided equally among its containers; zero without them.
 */
export function simulatedUsage(pod: Pod): ReadonlyMap<string, SimulatedUsage> {
  const { spec } = pod
  const { nanoCores, memoryBytes } = simulatedPodUsage(pod)
  const sidecars = spec?.initContainers?.filter(({ restartPolicy }) => restartPolicy === 'Always') ?? []
  const containers = [...(spec?.containers ?? []), ...sidecars]
  const part = {
    nanoCores: Math.round(nanoCores / containers.length),
    memoryBytes: Math.round(memoryBytes / containers.length),
  }
  return new Map(containers.map(({ name }) => [name, part]))
}

export function simulatedPodUsage({ metadata }: Pod): SimulatedUsage {
  const stated = (resource: string): Quantity => {
    return tryParseQuantity(metadata.annotations?.[`simulated.k8ts.io/${resource}`] ?? '0') ?? zeroQuantity
  }
  return { nanoCores: Number(stated('cpu').nanos), memoryBytes: Number(quantityValue(stated('memory'))) }
}

export function sumOfUsage(usages: readonly SimulatedUsage[]): SimulatedUsage {
  return {
    nanoCores: usages.reduce((sum, { nanoCores }) => sum + nanoCores, 0),
    memoryBytes: usages.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
  }
}
