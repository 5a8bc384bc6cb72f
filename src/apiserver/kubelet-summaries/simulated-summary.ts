import type { Pod } from '#/api/generated/core/v1.ts'
import { quantityValue, tryParseQuantity, zeroQuantity, type Quantity } from '#/api/text/quantity.ts'
import type { Stored } from '#/api/metadata.ts'
import type { KubeletSummary, ResourceUse } from './read-summary.ts'

/**
 * Summary of a simulated node: the usage of a pod is taken from its annotations `simulated.k8ts.io/cpu` and
 * `simulated.k8ts.io/memory` and divided equally among its containers; it is zero without them.
 */
export function simulatedSummary(running: readonly Stored<Pod>[]): KubeletSummary {
  const uses = running.map(pod => [pod, useOf(pod)] as const)
  const pods = new Map(uses.map(([pod, use]) => [pod.metadata.uid, ofContainers(pod, use)]))
  return { node: sum(uses.map(([, use]) => use)), pods }
}

function useOf({ metadata }: Pod): ResourceUse {
  const stated = (resource: string): Quantity => {
    return tryParseQuantity(metadata.annotations?.[`simulated.k8ts.io/${resource}`] ?? '0') ?? zeroQuantity
  }
  return { nanoCores: Number(stated('cpu').nanos), memoryBytes: Number(quantityValue(stated('memory'))) }
}

function ofContainers(
  { spec }: Pod,
  { nanoCores, memoryBytes }: ResourceUse,
): ReadonlyMap<string, ResourceUse> {
  const sidecars = spec?.initContainers?.filter(({ restartPolicy }) => restartPolicy === 'Always') ?? []
  const containers = [...(spec?.containers ?? []), ...sidecars]
  const part = {
    nanoCores: Math.round(nanoCores / containers.length),
    memoryBytes: Math.round(memoryBytes / containers.length),
  }
  return new Map(containers.map(({ name }) => [name, part]))
}

function sum(uses: readonly ResourceUse[]): ResourceUse {
  return uses.reduce(
    (total, { nanoCores, memoryBytes }) => ({
      nanoCores: total.nanoCores + nanoCores,
      memoryBytes: total.memoryBytes + memoryBytes,
    }),
    { nanoCores: 0, memoryBytes: 0 },
  )
}
