/** Table columns for `resource.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf, translateTimestampSince } from '../../columns.ts'
import type {
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from '../../generated/resource/v1.ts'
import type { DeviceTaintRule } from '../../generated/resource/v1beta2.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../unchecked.ts'
import { resourcePoolStatusRequestColumns } from './pool-status-columns.ts'

type Plain = DeviceClass | ResourceClaimTemplate

const plainColumns: KindColumns<Plain> = {
  columns: [nameColumn, ageColumn],
  cells: (object: Unchecked<Plain>, nowMs) => [nameOf(object), ageOf(object, nowMs)],
}

const resourceClaimColumns: KindColumns<ResourceClaim> = {
  columns: [nameColumn, textColumn('State', 'Whether devices are set aside, and for somebody.'), ageColumn],
  cells: (claim: Unchecked<ResourceClaim>, nowMs) => [nameOf(claim), claimState(claim), ageOf(claim, nowMs)],
}

const resourceSliceColumns: KindColumns<ResourceSlice> = {
  columns: [
    nameColumn,
    textColumn('Node', 'The node that has the devices.'),
    textColumn('Driver', 'The driver of the devices.'),
    textColumn('Pool', 'The pool that the slice is part of.'),
    ageColumn,
  ],
  cells: (slice: Unchecked<ResourceSlice>, nowMs) => {
    const { nodeName = '', driver = '', pool } = slice.spec ?? {}
    return [nameOf(slice), nodeName, driver, pool?.name ?? '', ageOf(slice, nowMs)]
  },
}

const deviceTaintRuleColumns: KindColumns<DeviceTaintRule> = {
  columns: [
    nameColumn,
    textColumn('Key', 'The key of the taint.'),
    textColumn('Value', 'The value of the taint.'),
    textColumn('Effect', 'What the taint does to pods that do not tolerate it.'),
    textColumn('TimeAdded', 'How long ago the taint was added.'),
    ageColumn,
  ],
  cells: (rule: Unchecked<DeviceTaintRule>, nowMs) => {
    const { key = '', value = '', effect = '', timeAdded } = rule.spec?.taint ?? {}
    const added = timeAdded ? translateTimestampSince(timeAdded, nowMs) : ''
    return [nameOf(rule), key, value, effect, added, ageOf(rule, nowMs)]
  },
}

function claimState({ metadata, status }: Unchecked<ResourceClaim>): string {
  const { allocation, reservedFor = [] } = status ?? {}
  const isDeleted = metadata?.deletionTimestamp !== undefined
  if (allocation === undefined) return isDeleted ? 'deleted' : 'pending'
  return `${isDeleted ? 'deleted,' : ''}allocated${reservedFor.length > 0 ? ',reserved' : ''}`
}

export const resourceColumns: GroupColumns = {
  DeviceClass: plainColumns,
  DeviceTaintRule: deviceTaintRuleColumns,
  ResourceClaim: resourceClaimColumns,
  ResourceClaimTemplate: plainColumns,
  ResourcePoolStatusRequest: resourcePoolStatusRequestColumns,
  ResourceSlice: resourceSliceColumns,
}
