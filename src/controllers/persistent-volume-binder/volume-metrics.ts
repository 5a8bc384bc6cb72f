import type { MetricsRegistry } from '#/base/metrics.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { storageClassOf } from '#/api/core/storage-classes.ts'
import type { Informer } from '#/client/informer.ts'

export interface VolumeMetricsOptions {
  readonly registry: MetricsRegistry
  readonly volumes: Pick<Informer<PersistentVolume>, 'list'>
  readonly claims: Pick<Informer<PersistentVolumeClaim>, 'list'>
}

type Counts = readonly (readonly [labels: readonly string[], count: number])[]

/** Registers the `pv_collector_*` gauges, counted at each scrape. */
export function addVolumeMetrics({ registry, volumes, claims }: VolumeMetricsOptions): void {
  const gauge = (name: string, help: string, options: GaugeOptions): void =>
    registry.callbackMetric({
      name: `pv_collector_${name}`,
      help,
      type: 'gauge',
      stability: 'ALPHA',
      ...options,
    })
  const isBound = ({ status }: PersistentVolume | PersistentVolumeClaim): boolean => status?.phase === 'Bound'
  const ofVolumes = (isWanted: boolean) => (): Counts =>
    countBy(
      volumes.list().filter(volume => isBound(volume) === isWanted),
      ({ spec }) => [spec?.storageClassName ?? ''],
    )
  const ofClaims = (isWanted: boolean) => (): Counts =>
    countBy(
      claims.list().filter(claim => isBound(claim) === isWanted),
      claim => [claim.metadata.namespace ?? '', storageClassOf(claim), attributesClassOf(claim)],
    )
  const byClass = ['storage_class']
  const byClaim = ['namespace', 'storage_class', 'volume_attributes_class']
  gauge('bound_pv_count', 'Bound PersistentVolumes.', { labels: byClass, read: ofVolumes(true) })
  gauge('unbound_pv_count', 'Unbound PersistentVolumes.', { labels: byClass, read: ofVolumes(false) })
  gauge('bound_pvc_count', 'Bound PersistentVolumeClaims.', { labels: byClaim, read: ofClaims(true) })
  gauge('unbound_pvc_count', 'Unbound PersistentVolumeClaims.', { labels: byClaim, read: ofClaims(false) })
  gauge('total_pv_count', 'PersistentVolumes by volume plugin.', {
    labels: ['plugin_name', 'volume_mode'],
    read: () =>
      countBy(volumes.list(), volume => [pluginOf(volume), volume.spec?.volumeMode ?? 'Filesystem']),
  })
}

type GaugeOptions = Pick<Parameters<MetricsRegistry['callbackMetric']>[0], 'labels' | 'read'>

function countBy<T>(objects: Iterable<T>, labelsOf: (object: T) => readonly string[]): Counts {
  const counts = new Map<string, [readonly string[], number]>()
  for (const object of objects) {
    const labels = labelsOf(object)
    counts.getOrInsertComputed(labels.join('\0'), () => [labels, 0])[1]++
  }
  return [...counts.values()]
}

function attributesClassOf({ spec }: PersistentVolumeClaim): string {
  return spec?.volumeAttributesClassName ?? ''
}

/** In-tree plugins that the node supports. */
const plugins: readonly (readonly [source: string, name: string])[] = [
  ['hostPath', 'kubernetes.io/host-path'],
  ['local', 'kubernetes.io/local-volume'],
  ['nfs', 'kubernetes.io/nfs'],
  ['iscsi', 'kubernetes.io/iscsi'],
  ['fc', 'kubernetes.io/fc'],
]

function pluginOf({ spec }: PersistentVolume): string {
  if (spec?.csi) return `kubernetes.io/csi:${spec.csi.driver}`
  const [, name = 'N/A'] = plugins.find(([source]) => spec !== undefined && Object.hasOwn(spec, source)) ?? []
  return name
}
