/** Table columns of ReplicaSet and ReplicationController. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../columns.ts'
import type { ReplicaSet } from '../generated/apps/v1.ts'
import type { ReplicationController } from '../generated/core/v1.ts'
import type { KindColumns } from '../table-columns.ts'
import { containerImages, containerNames } from './cell-text.ts'
import { containersColumn, imagesColumn, integerColumn, selectorColumn } from './make-column.ts'
import type { Unchecked } from './validation/unchecked.ts'

/** The two kinds differ in the type of their selector. */
export function replicaColumns<T extends ReplicaSet | ReplicationController>(
  selectorText: (object: Unchecked<T>) => string,
): KindColumns<T> {
  return {
    columns: [
      nameColumn,
      integerColumn('Desired', 'Number of desired replicas.'),
      integerColumn('Current', 'Number of existing replicas.'),
      integerColumn('Ready', 'Number of ready replicas.'),
      ageColumn,
      containersColumn,
      imagesColumn,
      selectorColumn,
    ],
    cells: object => {
      const { spec, status }: Unchecked<ReplicaSet | ReplicationController> = object
      const containers = spec?.template?.spec?.containers
      return [
        nameOf(object),
        spec?.replicas ?? 0,
        status?.replicas ?? 0,
        status?.readyReplicas ?? 0,
        ageOf(object),
        containerNames(containers),
        containerImages(containers),
        selectorText(object as Unchecked<T>),
      ]
    },
  }
}
