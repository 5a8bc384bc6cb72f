/**
 * From what a claimed volume is filled. The field `dataSource` came first and took volumes and snapshots,
 * dropping anything else in silence; `dataSourceRef` takes anything. Each follows the other when only one is
 * given.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#volume-populators-and-data-sources
 */
import type { PersistentVolumeClaimSpec, TypedLocalObjectReference } from '../../../generated/core/v1.ts'
import { withoutField } from '../pod/structure-sharing.ts'

export function withDataSources(spec: PersistentVolumeClaimSpec): PersistentVolumeClaimSpec {
  const { dataSource, dataSourceRef } = spec
  if (dataSource && !dataSourceRef) return { ...spec, dataSourceRef: dataSource }
  // A source in another namespace is nothing that the old field could name.
  if (!dataSourceRef || dataSource || dataSourceRef.namespace) return spec
  return { ...spec, dataSource: withoutField(dataSourceRef, 'namespace') }
}

/**
 * Drops what the old field never took, and sources in other namespaces, unless the claim had a source before.
 */
export function withoutForeignSource(
  given: PersistentVolumeClaimSpec,
  before: PersistentVolumeClaimSpec | undefined,
): PersistentVolumeClaimSpec {
  const isNewRef = before?.dataSourceRef === undefined
  const isForeign = isNewRef && given.dataSourceRef?.namespace
  const spec: PersistentVolumeClaimSpec = isForeign ? withoutField(given, 'dataSourceRef') : given
  if (before?.dataSource || before?.dataSourceRef || spec.dataSourceRef || !spec.dataSource) return spec
  return isVolumeOrSnapshot(spec.dataSource) ? spec : withoutField(spec, 'dataSource')
}

function isVolumeOrSnapshot({ apiGroup = '', kind }: TypedLocalObjectReference): boolean {
  if (apiGroup === '') return kind === 'PersistentVolumeClaim'
  return apiGroup === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot'
}
