/** Table columns of PodTemplate and ReplicationController. */
import { nameColumn, nameOf } from '../../../columns.ts'
import type { PodTemplate, ReplicationController } from '../../../generated/core/v1.ts'
import type { KindColumns } from '../../../table-columns.ts'
import { containerImages, containerNames, labelsText } from '../../cell-text.ts'
import { textColumn } from '../../make-column.ts'
import { replicaColumns } from '../../replica-columns.ts'
import type { Unchecked } from '../../validation/unchecked.ts'

export const podTemplateColumns: KindColumns<PodTemplate> = {
  columns: [
    nameColumn,
    textColumn('Containers', 'Names of each container in the template.'),
    textColumn('Images', 'Images referenced by each container in the template.'),
    textColumn('Pod Labels', 'Labels of the pod template.'),
  ],
  cells: (object: Unchecked<PodTemplate>) => {
    const { metadata, spec } = object.template ?? {}
    return [
      nameOf(object),
      containerNames(spec?.containers),
      containerImages(spec?.containers),
      labelsText(metadata?.labels),
    ]
  },
}

export const replicationControllerColumns = replicaColumns<ReplicationController>(({ spec }) =>
  labelsText(spec?.selector),
)
