import { merged, mergedSet, type Overlay } from '../overlay.ts'

export const meta: Overlay = {
  types: {
    'ManagedFieldsEntry.fieldsV1': 'meta.v1.FieldsV1',
    'WatchEvent.object': 'runtime.RawExtension',
  },
  definitions: { 'meta.v1.FieldsV1': 'any', 'meta.v1.Patch': 'any', 'runtime.RawExtension': 'any' },
  atomic: ['LabelSelector', 'OwnerReference'],
  merging: {
    'ObjectMeta.finalizers': mergedSet,
    'ObjectMeta.ownerReferences': merged('uid'),
  },
  kinds: {
    APIGroup: 'own-group',
    APIGroupList: 'own-group',
    APIResourceList: 'own-group',
    APIVersions: 'own-group',
    DeleteOptions: 'every-group',
    Status: 'own-group',
    WatchEvent: 'every-group',
  },
}
