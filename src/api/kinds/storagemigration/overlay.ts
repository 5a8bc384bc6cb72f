import { merged, type Overlay } from '../overlay.ts'

export const storagemigration: Overlay = {
  merging: { 'StorageVersionMigrationStatus.conditions': merged('type') },
}
