import { isTime } from '#/api/text/time.ts'

/** Validated resource usage of a node and its pods. */
export interface KubeletSummary {
  readonly node?: ResourceUse
  /** By pod uid, then by container name. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, ResourceUse>>
}

export interface ResourceUse {
  /** Sampling time, if reported. */
  readonly time?: string
  readonly nanoCores: number
  readonly memoryBytes: number
}

/** Parses the kubelet's summary. The input is untrusted: invalid parts are ignored. */
export function readSummary(value: unknown): KubeletSummary {
  const { node, pods } = fieldsOf(value)
  const found = new Map<string, ReadonlyMap<string, ResourceUse>>()
  for (const pod of Array.isArray(pods) ? pods : []) {
    const { podRef, containers } = fieldsOf(pod)
    const { uid } = fieldsOf(podRef)
    const uses = readContainers(containers)
    if (typeof uid === 'string' && uses !== undefined) found.set(uid, uses)
  }
  const own = readUse(node)
  return { ...(own && { node: own }), pods: found }
}

/** Undefined if the usage of any container is missing. */
function readContainers(containers: unknown): ReadonlyMap<string, ResourceUse> | undefined {
  if (!Array.isArray(containers) || containers.length === 0) return undefined
  const uses = new Map<string, ResourceUse>()
  for (const container of containers) {
    const { name } = fieldsOf(container)
    const use = readUse(container)
    if (typeof name !== 'string' || use === undefined) return undefined
    uses.set(name, use)
  }
  return uses
}

function readUse(value: unknown): ResourceUse | undefined {
  const { cpu, memory } = fieldsOf(value)
  const { usageNanoCores: nanoCores, time } = fieldsOf(cpu)
  const { workingSetBytes: memoryBytes } = fieldsOf(memory)
  if (!isAmount(nanoCores) || !isAmount(memoryBytes)) return undefined
  return { nanoCores, memoryBytes, ...(typeof time === 'string' && isTime(time) && { time }) }
}

function isAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
