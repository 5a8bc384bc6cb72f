/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { merged, type Overlay } from '../overlay.ts'

export const storagemigrationOverlay: Overlay = {
  merging: { 'StorageVersionMigrationStatus.conditions': merged('type') },
  fieldNumbers: `
StorageVersionMigration: metadata spec status
StorageVersionMigrationList: metadata items
StorageVersionMigrationSpec: resource
StorageVersionMigrationStatus: conditions resourceVersion
`,
}
