/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { keyed, set, type Overlay } from '../overlay.ts'

export const apiserverinternalOverlay: Overlay = {
  types: { 'StorageVersion.spec': 'apiserverinternal.v1alpha1.StorageVersionSpec' },
  definitions: { 'apiserverinternal.v1alpha1.StorageVersionSpec': 'struct' },
  merging: {
    'ServerStorageVersion.decodableVersions': set,
    'ServerStorageVersion.servedVersions': set,
    'StorageVersionStatus.conditions': keyed('type'),
    'StorageVersionStatus.storageVersions': keyed('apiServerID'),
  },
  fieldNumbers: `
ServerStorageVersion: apiServerID- encodingVersion- decodableVersions- servedVersions
StorageVersion: metadata spec! status!
StorageVersionCondition: type status observedGeneration lastTransitionTime reason message-
StorageVersionList: metadata items
StorageVersionSpec:
StorageVersionStatus: storageVersions commonEncodingVersion? conditions
`,
}
