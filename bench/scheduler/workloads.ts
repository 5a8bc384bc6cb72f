import type { Node, Pod, PodSpec } from '#/api/generated/core/v1.ts'

/** A kind of pod to schedule, and the pods that must exist before. */
export interface Workload {
  readonly name: string
  readonly podOf: (index: number, nodeCount: number) => Pod
  /** Pods that already run on every node. */
  readonly onEachNode?: readonly Pod[]
  /** Limits the number of pods where a node accepts only one. */
  readonly podsMax?: (nodeCount: number) => number
}

const zoneKey = 'topology.kubernetes.io/zone'
const hostKey = 'kubernetes.io/hostname'
const labelSelector = { matchLabels: { app: 'web' } }

export function nodeNumber(index: number): Node {
  const name = `node-${index}`
  const table = { cpu: '32', memory: '128Gi', pods: '110' }
  return {
    metadata: { name, labels: { [hostKey]: name, [zoneKey]: `zone-${index % 3}` } },
    status: { allocatable: table, capacity: table },
  }
}

function podNumber(index: number, spec: Partial<PodSpec> = {}, app = 'web'): Pod {
  return {
    metadata: { namespace: 'default', name: `pod-${index}`, labels: { app } },
    spec: {
      containers: [{ name: 'web', image: 'web', resources: { requests: { cpu: '100m', memory: '128Mi' } } }],
      ...spec,
    },
  }
}

/** Requests all CPU of a node and terminates without a grace period. */
const filler: Pod = {
  metadata: { namespace: 'default', name: 'filler', labels: { app: 'filler' } },
  spec: {
    containers: [{ name: 'web', image: 'web', resources: { requests: { cpu: '32' } } }],
    terminationGracePeriodSeconds: 0,
  },
}

export const workloads: readonly Workload[] = [
  { name: 'plain', podOf: index => podNumber(index) },
  {
    name: 'node-affinity',
    podOf: index =>
      podNumber(index, {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: zoneKey, operator: 'In', values: ['zone-0', 'zone-1'] }] },
              ],
            },
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 10,
                preference: { matchExpressions: [{ key: zoneKey, operator: 'In', values: ['zone-1'] }] },
              },
            ],
          },
        },
      }),
  },
  {
    name: 'topology-spread',
    podOf: index =>
      podNumber(index, {
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: zoneKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector },
          { maxSkew: 1, topologyKey: hostKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector },
        ],
      }),
  },
  {
    name: 'preferred-anti-affinity',
    podOf: index => {
      const podAffinityTerm = { topologyKey: hostKey, labelSelector }
      const preferred = [{ weight: 100, podAffinityTerm }]
      return podNumber(index, {
        affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } },
      })
    },
  },
  {
    name: 'required-anti-affinity',
    podOf: index => {
      const required = [{ topologyKey: hostKey, labelSelector }]
      return podNumber(index, {
        affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
      })
    },
    podsMax: nodeCount => nodeCount,
  },
  {
    name: 'pod-affinity',
    podOf: index => {
      const required = [{ topologyKey: zoneKey, labelSelector }]
      return podNumber(index, {
        affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
      })
    },
  },
  {
    name: 'preemption',
    podOf: index => podNumber(index, { priority: 10, containers: filler.spec!.containers }),
    onEachNode: [filler],
    podsMax: nodeCount => Math.floor(nodeCount / 2),
  },
]
