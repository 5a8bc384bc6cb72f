import { keyed, set, type Overlay } from '../overlay.ts'

export const apiserverinternal: Overlay = {
  types: { 'StorageVersion.spec': 'apiserverinternal.v1alpha1.StorageVersionSpec' },
  definitions: { 'apiserverinternal.v1alpha1.StorageVersionSpec': 'struct' },
  merging: {
    'ServerStorageVersion.decodableVersions': set,
    'ServerStorageVersion.servedVersions': set,
    'StorageVersionStatus.conditions': keyed('type'),
    'StorageVersionStatus.storageVersions': keyed('apiServerID'),
  },
}
