/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const storagemigration = `
StorageVersionMigration: metadata spec status
StorageVersionMigrationList: metadata items
StorageVersionMigrationSpec: resource
StorageVersionMigrationStatus: conditions resourceVersion
`
