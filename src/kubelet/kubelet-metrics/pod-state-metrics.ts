import type { MetricsRegistry } from '#/base/metrics.ts'
import type { ObservedContainer, ObservedSandbox } from '../observed-pod.ts'

/** A pod that the kubelet works on. */
export interface PodState {
  readonly isStatic: boolean
  /** Counts against the node's allocatable resources. */
  readonly isActive: boolean
  /** A source still has it. */
  readonly isDesired: boolean
  readonly lifecycle: PodLifecycle
  readonly ephemeralContainers: number
  readonly observed: {
    readonly sandboxes: readonly Pick<ObservedSandbox, 'isReady'>[]
    readonly containers: readonly Pick<ObservedContainer, 'state'>[]
  }
}

export type PodLifecycle = 'sync' | 'terminating' | 'terminated'

export interface NodePods {
  readonly pods: readonly PodState[]
  /** Pods of the sources, by whether they are static. */
  readonly desired: { readonly static: number; readonly regular: number }
  readonly mirrorPods: number
  /** Volumes by plugin name. */
  readonly mountedVolumes: ReadonlyMap<string, number>
  readonly wantedVolumes: ReadonlyMap<string, number>
}

type Row = readonly [labels: readonly string[], value: number]

interface Family {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  readonly rows: (pods: NodePods) => Iterable<Row>
}

/** Registers the metrics of all pods, counted at each scrape. */
export function addPodStateMetrics(registry: MetricsRegistry, read: () => NodePods): void {
  for (const { rows, ...family } of families)
    registry.callbackMetric({ ...family, type: 'gauge', stability: 'ALPHA', read: () => rows(read()) })
}

const families: readonly Family[] = [
  {
    name: 'kubelet_running_pods',
    help: 'Pods with a running sandbox.',
    rows: ({ pods }) => [
      [[], count(pods, ({ observed }) => observed.sandboxes.some(({ isReady }) => isReady))],
    ],
  },
  {
    name: 'kubelet_running_containers',
    help: 'Containers in the runtime, by state.',
    labels: ['container_state'],
    rows: ({ pods }) => {
      const states = pods.flatMap(({ observed }) => observed.containers.map(({ state }) => state))
      return ['created', 'exited', 'running', 'unknown'].map(state => [
        [state],
        count(states, each => each === state),
      ])
    },
  },
  {
    name: 'kubelet_desired_pods',
    help: 'Pods that the node has to run.',
    labels: ['static'],
    rows: ({ desired }) => staticRows(desired),
  },
  {
    name: 'kubelet_active_pods',
    help: 'Admitted pods that have not terminated.',
    labels: ['static'],
    rows: ({ pods }) => {
      const active = pods.filter(({ isActive }) => isActive)
      const ofManifests = count(active, ({ isStatic }) => isStatic)
      return staticRows({ static: ofManifests, regular: active.length - ofManifests })
    },
  },
  {
    name: 'kubelet_mirror_pods',
    help: 'Mirror pods of static pods.',
    rows: ({ mirrorPods }) => [[[], mirrorPods]],
  },
  {
    name: 'kubelet_working_pods',
    help: 'Pods with a worker, by stage of their life and by whether a source still has them.',
    labels: ['lifecycle', 'config', 'static'],
    rows: ({ pods }) => workingRows(pods),
  },
  {
    name: 'kubelet_managed_ephemeral_containers',
    help: 'Ephemeral containers of the pods of the node.',
    rows: ({ pods }) => [[[], pods.reduce((sum, { ephemeralContainers }) => sum + ephemeralContainers, 0)]],
  },
  {
    name: 'volume_manager_total_volumes',
    help: 'Volumes of pods, by plugin and by whether they are mounted or wanted.',
    labels: ['plugin_name', 'state'],
    rows: ({ mountedVolumes, wantedVolumes }) => [
      ...[...mountedVolumes].map(([plugin, number]): Row => [[plugin, 'actual_state_of_world'], number]),
      ...[...wantedVolumes].map(([plugin, number]): Row => [[plugin, 'desired_state_of_world'], number]),
    ],
  },
]

/** The label is empty for other than static pods. */
function staticRows({ static: ofManifests, regular }: NodePods['desired']): readonly Row[] {
  return [
    [[''], regular],
    [['true'], ofManifests],
  ]
}

function* workingRows(pods: readonly PodState[]): Generator<Row, void, undefined> {
  for (const isStatic of [false, true]) {
    for (const isDesired of [true, false]) {
      for (const lifecycle of ['sync', 'terminating', 'terminated'] as const) {
        const number = count(
          pods,
          pod => pod.isStatic === isStatic && pod.isDesired === isDesired && pod.lifecycle === lifecycle,
        )
        yield [[lifecycle, isDesired ? 'desired' : 'orphan', isStatic ? 'true' : ''], number]
      }
    }
  }
}

function count<T>(all: readonly T[], fits: (one: T) => boolean): number {
  return all.reduce((sum, one) => (fits(one) ? sum + 1 : sum), 0)
}
