import type { Node, Pod } from '#/api/generated/core/v1.ts'

/** Node capacity and pod requests, by rules simple enough to be obviously correct. */
export interface NodeCapacity {
  readonly cpu: number
  readonly gpu: number
  readonly pods: number
  readonly ports: ReadonlySet<number>
}

export const gpuName = 'example.com/gpu'

function capacityOf({ status }: Node): NodeCapacity {
  const table = status?.allocatable ?? {}
  return {
    cpu: Number(table['cpu'] ?? 0),
    gpu: Number(table[gpuName] ?? 0),
    pods: Number(table['pods'] ?? 0),
    ports: new Set(),
  }
}

function requestedBy(pods: readonly Pod[]): NodeCapacity & { readonly hasPortConflict: boolean } {
  const ports = pods.flatMap(portsOf)
  return {
    cpu: pods.reduce((sum, pod) => sum + amountOf(pod, 'cpu'), 0),
    gpu: pods.reduce((sum, pod) => sum + amountOf(pod, gpuName), 0),
    pods: pods.length,
    ports: new Set(ports),
    hasPortConflict: new Set(ports).size < ports.length,
  }
}

/** Resources and ports of the node that are overcommitted by these pods. */
export function overcommittedBy(node: Node, pods: readonly Pod[]): readonly string[] {
  const [has, taken] = [capacityOf(node), requestedBy(pods)]
  return [
    ...(taken.cpu > has.cpu ? [`${taken.cpu} CPUs of ${has.cpu}`] : []),
    ...(taken.gpu > has.gpu ? [`${taken.gpu} GPUs of ${has.gpu}`] : []),
    ...(taken.pods > has.pods ? [`${taken.pods} pods of ${has.pods}`] : []),
    ...(taken.hasPortConflict ? ['duplicate host port'] : []),
  ]
}

/** True if the pod fits on the node beside these pods. */
export function fitsOn(pod: Pod, node: Node, pods: readonly Pod[]): boolean {
  const { nodeSelector = {} } = pod.spec ?? {}
  const isWanted = Object.entries(nodeSelector).every(([key, value]) => node.metadata.labels?.[key] === value)
  return isWanted && node.spec?.unschedulable !== true && overcommittedBy(node, [...pods, pod]).length === 0
}

export function isOn(pod: Pod, node: Node): boolean {
  return pod.spec?.nodeName === node.metadata.name
}

function amountOf({ spec }: Pod, name: string): number {
  return (spec?.containers ?? []).reduce(
    (sum, { resources }) => sum + Number(resources?.requests?.[name] ?? 0),
    0,
  )
}

function portsOf({ spec }: Pod): readonly number[] {
  return (spec?.containers ?? []).flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0 }) => hostPort || []),
  )
}
