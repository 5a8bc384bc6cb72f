/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const apiserverinternal = `
ServerStorageVersion: apiServerID encodingVersion decodableVersions servedVersions
StorageVersion: metadata spec! status!
StorageVersionCondition: type status observedGeneration lastTransitionTime reason message
StorageVersionList: metadata items
StorageVersionSpec:
StorageVersionStatus: storageVersions commonEncodingVersion? conditions
`
