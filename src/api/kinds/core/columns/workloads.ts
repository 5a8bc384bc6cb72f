/** Pod templates and replication controllers in tables. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../../columns.ts'
import type { PodTemplate, ReplicationController } from '../../../generated/core/v1.ts'
import type { KindColumns } from '../../../table-columns.ts'
import { containerImages, containerNames, labelsText } from '../../cell-text.ts'
import {
  containersColumn,
  imagesColumn,
  integerColumn,
  selectorColumn,
  textColumn,
} from '../../make-column.ts'
import type { Unchecked } from '../../unchecked.ts'

export const podTemplateColumns: KindColumns<PodTemplate> = {
  columns: [
    nameColumn,
    textColumn('Containers', 'Names of the containers of a pod.'),
    textColumn('Images', 'Images of the containers of a pod.'),
    textColumn('Pod Labels', 'Labels of a pod.'),
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

export const replicationControllerColumns: KindColumns<ReplicationController> = {
  columns: [
    nameColumn,
    integerColumn('Desired', 'How many pods there should be.'),
    integerColumn('Current', 'How many pods there are.'),
    integerColumn('Ready', 'How many pods are ready.'),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  cells: (object: Unchecked<ReplicationController>, nowMs) => {
    const { spec, status } = object
    const containers = spec?.template?.spec?.containers
    return [
      nameOf(object),
      spec?.replicas ?? 0,
      status?.replicas ?? 0,
      status?.readyReplicas ?? 0,
      ageOf(object, nowMs),
      containerNames(containers),
      containerImages(containers),
      labelsText(spec?.selector),
    ]
  },
}
