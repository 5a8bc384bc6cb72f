import { merged, set, type Overlay } from '../overlay.ts'

export const storage: Overlay = {
  quantities: ['CSIStorageCapacity.capacity', 'CSIStorageCapacity.maximumVolumeSize'],
  merging: {
    'CSIDriverSpec.volumeLifecycleModes': set,
    'CSINodeSpec.drivers': merged('name'),
  },
  resources: {
    storageclasses: { shortNames: ['sc'] },
    volumeattributesclasses: { shortNames: ['vac'] },
  },
}
