import { nodes, persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import { csiDrivers, csiStorageCapacities, storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { compareQuantities } from '#/api/quantity.ts'
import { wakeUp } from '../../framework.ts'
import { usesClaim } from '../pod-claims.ts'
import { volumeLimit } from './free-storage.ts'

export const wakeUps = [
  wakeUp({
    resource: storageClasses,
    on: ['add', 'update'],
    isHelpful: (_pod, { before, after }) =>
      before === undefined || !equalJson(before.allowedTopologies, after?.allowedTopologies),
  }),
  wakeUp({
    resource: persistentVolumeClaims,
    on: ['add', 'update'],
    isHelpful: (pod, { after }) => after === undefined || usesClaim(pod, after),
  }),
  wakeUp({ resource: persistentVolumes, on: ['add', 'update'] }),
  wakeUp({
    resource: nodes,
    on: ['add', 'update'],
    isHelpful: (_pod, { before, after }) =>
      before === undefined || !equalJson(before.metadata?.labels, after?.metadata?.labels),
  }),
  wakeUp({
    resource: csiDrivers,
    on: ['update'],
    isHelpful: (_pod, { before, after }) =>
      before?.spec?.storageCapacity === true && after?.spec?.storageCapacity !== true,
  }),
  wakeUp({
    resource: csiStorageCapacities,
    on: ['add', 'update'],
    isHelpful: (_pod, { before, after }) => {
      if (before === undefined || after === undefined) return true
      const [was, is] = [volumeLimit(before), volumeLimit(after)]
      return is !== undefined && (was === undefined || compareQuantities(is, was) > 0)
    },
  }),
]
