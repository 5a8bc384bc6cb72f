/** Overlay and protobuf field numbers of the group. Imports no rules: the generator reads this file. */
import { merged, type Overlay } from '../overlay.ts'

export const storagemigrationOverlay: Overlay = {
  merging: { 'StorageVersionMigrationStatus.conditions': merged('type') },
}

/** In the notation of `protobuf/field-numbers.ts`. */
export const storagemigrationFieldNumbers = `
StorageVersionMigration: metadata spec status
StorageVersionMigrationList: metadata items
StorageVersionMigrationSpec: resource
StorageVersionMigrationStatus: conditions resourceVersion
`
