import { nodes, persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import { csiDrivers, csiStorageCapacities, storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { compareQuantities } from '#/api/text/quantity.ts'
import { clusterEventWithHint } from '../../framework.ts'
import { usesClaim } from '../pod-claims.ts'
import { volumeLimit } from './storage-capacity.ts'

export const eventsToRegister = [
  clusterEventWithHint({
    resource: storageClasses,
    on: ['add', 'update'],
    queueingHint: (_pod, { before, after }) =>
      before === undefined || !equalJson(before.allowedTopologies, after?.allowedTopologies),
  }),
  clusterEventWithHint({
    resource: persistentVolumeClaims,
    on: ['add', 'update'],
    queueingHint: (pod, { after }) => after === undefined || usesClaim(pod, after),
  }),
  clusterEventWithHint({ resource: persistentVolumes, on: ['add', 'update'] }),
  clusterEventWithHint({
    resource: nodes,
    on: ['add', 'update'],
    queueingHint: (_pod, { before, after }) =>
      before === undefined || !equalJson(before.metadata.labels, after?.metadata.labels),
  }),
  clusterEventWithHint({
    resource: csiDrivers,
    on: ['update'],
    queueingHint: (_pod, { before, after }) =>
      before?.spec?.storageCapacity === true && after?.spec?.storageCapacity !== true,
  }),
  clusterEventWithHint({
    resource: csiStorageCapacities,
    on: ['add', 'update'],
    queueingHint: (_pod, { before, after }) => {
      if (before === undefined || after === undefined) return true
      const [was, is] = [volumeLimit(before), volumeLimit(after)]
      return is !== undefined && (was === undefined || compareQuantities(is, was) > 0)
    },
  }),
]
