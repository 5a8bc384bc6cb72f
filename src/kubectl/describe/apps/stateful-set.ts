import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { storageClassOf } from '#/api/core/storage-classes.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import type { Describer } from '../describer.ts'
import type { DescribeWriter } from '../describe-writer.ts'
import { podsStatus } from '../sections/controlled-pods.ts'
import { describeEvents } from '../sections/events.ts'
import { describeAnnotations, describeLabels, mapLines } from '../sections/metadata.ts'
import { describePodTemplate } from '../sections/pod-template.ts'
import { localTime } from '../sections/times.ts'

export const describeStatefulSet: Describer<StatefulSet> = async (statefulSet, context) => {
  const { writer } = context
  const { metadata, spec, status } = statefulSet
  const { type = '', rollingUpdate } = spec?.updateStrategy ?? {}
  const selector = compileLabelSelector(spec?.selector).toString()
  const pods = await podsStatus(statefulSet, selector, context)
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
    ['CreationTimestamp', localTime(metadata.creationTimestamp, context)],
    ['Selector', selector],
  ])
  describeLabels(writer, statefulSet)
  describeAnnotations(writer, statefulSet)
  writer.fields(0, [
    ['Replicas', `${spec?.replicas ?? 0} desired | ${status?.replicas ?? 0} total`],
    ['Update Strategy', type],
  ])
  if (rollingUpdate?.partition !== undefined) {
    writer.fields(1, [
      ['Partition', rollingUpdate.partition],
      ['MaxUnavailable', rollingUpdate.maxUnavailable],
    ])
  }
  writer.fields(0, [['Pods Status', pods]])
  describePodTemplate(spec?.template ?? {}, context)
  describeClaimTemplates(writer, spec?.volumeClaimTemplates)
  await describeEvents(statefulSet, context)
}

function describeClaimTemplates(writer: DescribeWriter, claims: readonly PersistentVolumeClaim[] = []): void {
  if (claims.length === 0) return writer.fields(0, [['Volume Claims', '<none>']])
  writer.write(0, 'Volume Claims:\n')
  for (const claim of claims) {
    const { metadata, spec = {} } = claim
    writer.fields(1, [
      ['Name', metadata.name ?? ''],
      ['StorageClass', storageClassOf(claim)],
    ])
    writer.list(1, 'Labels', mapLines(metadata.labels))
    writer.list(1, 'Annotations', mapLines(metadata.annotations))
    writer.fields(1, [
      ['Capacity', spec.resources?.requests?.['storage'] ?? '<default>'],
      ['Access Modes', `[${(spec.accessModes ?? []).join(' ')}]`],
    ])
  }
}
