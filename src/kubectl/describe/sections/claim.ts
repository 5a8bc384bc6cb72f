import type { PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { storageClassOf } from '#/api/core/storage-classes.ts'
import type { DescribeContext } from '../describer.ts'
import type { DescribeWriter, Entry } from '../describe-writer.ts'
import { describeAnnotations, describeLabels } from './metadata.ts'
import { timeSince } from './times.ts'

/** A claim of the API, or with `times` absent the template of a claim, which has neither name nor status. */
export function describeClaim(
  writer: DescribeWriter,
  claim: PersistentVolumeClaim,
  times?: Pick<DescribeContext, 'nowMs'>,
): void {
  const { metadata, spec = {}, status = {} } = claim
  const { volumeName = '', dataSource } = spec
  const isBound = volumeName !== ''
  writer.fields(0, [
    ['Name', times && metadata.name],
    ['Namespace', times && (metadata.namespace ?? '')],
    ['StorageClass', storageClassOf(claim)],
    ['Status', times && phaseText(claim, times)],
    ['Volume', volumeName],
  ])
  describeLabels(writer, claim)
  describeAnnotations(writer, claim)
  writer.fields(0, [
    ['Finalizers', times && finalizersText(claim)],
    ['Capacity', isBound ? (status.capacity?.['storage'] ?? '0') : ''],
    ['Access Modes', isBound ? accessModesText(status.accessModes) : ''],
    ['VolumeMode', spec.volumeMode],
  ])
  if (!dataSource) return
  writer.write(0, 'DataSource:\n')
  writer.fields(1, [
    ['APIGroup', dataSource.apiGroup],
    ['Kind', dataSource.kind],
    ['Name', dataSource.name],
  ] satisfies Entry[])
}

/** The phase of a claim or volume, or how long it has been terminating. */
export function phaseText(
  {
    metadata,
    status,
  }: Pick<PersistentVolumeClaim, 'metadata'> & { readonly status?: { readonly phase?: string } },
  times: Pick<DescribeContext, 'nowMs'>,
): string {
  const { deletionTimestamp } = metadata
  if (deletionTimestamp) return `Terminating (lasts ${timeSince(deletionTimestamp, times)})`
  return status?.phase ?? ''
}

export function finalizersText({ metadata }: Pick<PersistentVolumeClaim, 'metadata'>): string {
  return `[${(metadata.finalizers ?? []).join(' ')}]`
}

const accessModes: ReadonlyMap<string, string> = new Map([
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
])

/** `RWO,RWX`, in a fixed order. */
export function accessModesText(modes: readonly string[] = []): string {
  const known = accessModes.entries().filter(([mode]) => modes.includes(mode))
  return known
    .map(([, abbreviation]) => abbreviation)
    .toArray()
    .join(',')
}
