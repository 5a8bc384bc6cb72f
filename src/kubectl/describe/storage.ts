import { isDefaultClass } from '#/api/core/storage-classes.ts'
import type { TopologySelectorTerm } from '#/api/generated/core/v1.ts'
import type {
  CSINode,
  CSINodeDriver,
  StorageClass,
  VolumeAttributesClass,
} from '#/api/generated/storage/v1.ts'
import type { Describer } from './describer.ts'
import type { DescribeWriter } from './describe-writer.ts'
import { describeEvents } from './sections/events.ts'
import { describeAnnotations, describeLabels, mapText } from './sections/metadata.ts'
import { localTime } from './sections/times.ts'

export const describeStorageClass: Describer<StorageClass> = async (storageClass, context) => {
  const { writer } = context
  const { metadata, allowVolumeExpansion, mountOptions = [], allowedTopologies } = storageClass
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['IsDefaultClass', isDefaultClass(storageClass) ? 'Yes' : 'No'],
    ['Annotations', mapText(metadata.annotations)],
    ['Provisioner', storageClass.provisioner],
    ['Parameters', mapText(storageClass.parameters)],
    ['AllowVolumeExpansion', expansionText(allowVolumeExpansion)],
    ['MountOptions', mountOptions.length === 0 ? '<none>' : undefined],
  ])
  if (mountOptions.length > 0) writer.write(0, 'MountOptions:\n')
  for (const option of mountOptions) writer.write(1, `${option}\n`)
  writer.fields(0, [
    ['ReclaimPolicy', storageClass.reclaimPolicy],
    ['VolumeBindingMode', storageClass.volumeBindingMode],
  ])
  if (allowedTopologies) describeTopologies(writer, allowedTopologies)
  await describeEvents(storageClass, context)
}

function expansionText(isAllowed: boolean | undefined): string {
  if (isAllowed === undefined) return '<unset>'
  return isAllowed ? 'True' : 'False'
}

function describeTopologies(writer: DescribeWriter, terms: readonly TopologySelectorTerm[]): void {
  writer.fields(0, [['AllowedTopologies', terms.length === 0 ? '<none>' : '']])
  for (const [index, { matchLabelExpressions = [] }] of terms.entries()) {
    const lines = matchLabelExpressions.map(({ key, values }) => {
      return values.length === 0 ? `${key} in` : `${key} in [${values.join(', ')}]`
    })
    writer.list(1, `Term ${index}`, lines)
  }
}

export const describeVolumeAttributesClass: Describer<VolumeAttributesClass> = async (
  attributesClass,
  context,
) => {
  const { metadata, driverName, parameters } = attributesClass
  context.writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Annotations', mapText(metadata.annotations)],
    ['DriverName', driverName],
    ['Parameters', mapText(parameters)],
  ])
  await describeEvents(attributesClass, context)
}

export const describeCsiNode: Describer<CSINode> = async (csiNode, context) => {
  const { writer } = context
  const { metadata, spec } = csiNode
  writer.fields(0, [['Name', metadata.name ?? '']])
  describeLabels(writer, csiNode)
  describeAnnotations(writer, csiNode)
  writer.fields(0, [['CreationTimestamp', localTime(metadata.creationTimestamp, context)]])
  writer.write(0, 'Spec:\n')
  if (spec?.drivers) writer.write(1, 'Drivers:\n')
  for (const driver of spec?.drivers ?? []) describeDriver(writer, driver)
  await describeEvents(csiNode, context)
}

function describeDriver(writer: DescribeWriter, driver: CSINodeDriver): void {
  const { name, nodeID, allocatable, topologyKeys } = driver
  writer.write(2, `${name}:\n`)
  writer.fields(3, [['Node ID', nodeID]])
  if (allocatable?.count !== undefined) {
    writer.write(3, 'Allocatables:\n')
    writer.fields(4, [['Count', allocatable.count]])
  }
  writer.fields(3, [['Topology Keys', topologyKeys && `[${topologyKeys.join(' ')}]`]])
}
