/**
 * Defaulting of `dataSource` and `dataSourceRef` of a claim. `dataSource` accepts only volumes and snapshots
 * and silently drops anything else; `dataSourceRef` accepts any kind. If only one is set, the other is copied
 * from it. https://kubernetes.io/docs/concepts/storage/persistent-volumes/#volume-populators-and-data-sources
 */
import type { PersistentVolumeClaimSpec, TypedLocalObjectReference } from '../../../generated/core/v1.ts'
import { withoutField } from '../../../copy-on-write.ts'

export function normalizeDataSources(spec: PersistentVolumeClaimSpec): PersistentVolumeClaimSpec {
  const { dataSource, dataSourceRef } = spec
  if (dataSource && !dataSourceRef) return { ...spec, dataSourceRef: dataSource }
  // `dataSource` cannot reference another namespace.
  if (!dataSourceRef || dataSource || dataSourceRef.namespace) return spec
  return { ...spec, dataSource: withoutField(dataSourceRef, 'namespace') }
}

/**
 * Drops a `dataSource` of an unsupported kind and a `dataSourceRef` to another namespace, unless the claim
 * already had a source.
 */
export function dropUnsupportedDataSource(
  given: PersistentVolumeClaimSpec,
  old: PersistentVolumeClaimSpec | undefined,
): PersistentVolumeClaimSpec {
  const isNewRef = old?.dataSourceRef === undefined
  const isForeign = isNewRef && given.dataSourceRef?.namespace
  const spec: PersistentVolumeClaimSpec = isForeign ? withoutField(given, 'dataSourceRef') : given
  if (old?.dataSource || old?.dataSourceRef || spec.dataSourceRef || !spec.dataSource) return spec
  return isVolumeOrSnapshot(spec.dataSource) ? spec : withoutField(spec, 'dataSource')
}

function isVolumeOrSnapshot({ apiGroup = '', kind }: TypedLocalObjectReference): boolean {
  if (apiGroup === '') return kind === 'PersistentVolumeClaim'
  return apiGroup === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot'
}
