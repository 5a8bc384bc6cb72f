import type { Pod } from '#/api/generated/core/v1.ts'
import { quantityValue, tryParseQuantity, zeroQuantity, type Quantity } from '#/api/quantity.ts'
import type { KubeletSummary, ResourceUse } from './read-summary.ts'

/**
 * Of a simulated node, where nothing really runs: a pod uses what it says of itself in the annotations
 * `simulated.k8ts.io/cpu` and `simulated.k8ts.io/memory`, each of its containers an equal part of it, and nothing when
 * it does not say.
 */
export function statedSummary(running: readonly Pod[]): KubeletSummary {
  const uses = running.map(pod => [pod, useOf(pod)] as const)
  const pods = new Map(uses.map(([pod, use]) => [pod.metadata?.uid ?? '', ofContainers(pod, use)]))
  return { node: sum(uses.map(([, use]) => use)), pods }
}

function useOf({ metadata }: Pod): ResourceUse {
  const stated = (resource: string): Quantity => {
    return tryParseQuantity(metadata?.annotations?.[`simulated.k8ts.io/${resource}`] ?? '0') ?? zeroQuantity
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
