/** Table columns of `storagemigration.k8s.io`. */
import { nameOf } from '../../columns.ts'
import type { StorageVersionMigration } from '../../generated/storagemigration/v1beta1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { withGroup } from '../cell-text.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'

const storageVersionMigrationColumns: KindColumns<StorageVersionMigration> = {
  columns: [
    textColumn('Name', 'Name of the migration.'),
    textColumn('Resource', 'Resource to migrate.'),
    textColumn('Status', 'Status of the migration.'),
  ],
  cells: (migration: Unchecked<StorageVersionMigration>) => {
    const { resource = '', group } = migration.spec?.resource ?? {}
    const state = migration.status?.conditions?.findLast(({ type = '', status }) => {
      return status === 'True' && states.includes(type)
    })
    return [nameOf(migration), withGroup(resource, group), state?.type ?? 'Unknown']
  },
}

const states: readonly string[] = ['Running', 'Failed', 'Succeeded']

export const storagemigrationColumns: GroupColumns = {
  StorageVersionMigration: storageVersionMigrationColumns,
}
