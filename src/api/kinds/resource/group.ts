/** Rules and table columns of `resource.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf, translateTimestampSince } from '../../columns.ts'
import type {
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from '../../generated/resource/v1.ts'
import type { ResourcePoolStatusRequest } from '../../generated/resource/v1alpha3.ts'
import type { DeviceTaintRule } from '../../generated/resource/v1beta2.ts'
import { withField, withMissing } from '../../copy-on-write.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { resourcePoolStatusRequestColumns } from './pool-status-columns.ts'
import type { GroupRules, KindRules } from '../../kind-rules.ts'
import { resourceClaimRules, resourceClaimTemplateRules } from './resource-claim.ts'
import { resourceSliceRules } from './resource-slice.ts'
import { invalid, type FieldError } from '../../field-error.ts'
import { isExtendedResourceName } from '../../core/resource-names.ts'
import { configurationsMax, validateConfiguration, validateSelectors } from './configuration.ts'
import { validateList } from './limits.ts'

const deviceClassRules: KindRules<DeviceClass> = {
  returnDeletedObject: true,
  tracksGeneration: true,
  validate: validateDeviceClass,
  validateUpdate: validateDeviceClass,
}

const resourcePoolStatusRequestRules: KindRules<ResourcePoolStatusRequest> = {
  withDefaults: request => withField(request, 'spec', spec => withMissing(spec, { limit: 100 })),
  returnDeletedObject: true,
}

export const resourceRules: GroupRules = {
  DeviceClass: deviceClassRules,
  DeviceTaintRule: { returnDeletedObject: true, statusKeepsMetadata: true },
  ResourceClaim: resourceClaimRules,
  ResourceClaimTemplate: resourceClaimTemplateRules,
  ResourcePoolStatusRequest: resourcePoolStatusRequestRules,
  ResourceSlice: resourceSliceRules,
}

type Plain = DeviceClass | ResourceClaimTemplate

const plainColumns: KindColumns<Plain> = {
  columns: [nameColumn, ageColumn],
  cells: (object: Unchecked<Plain>) => [nameOf(object), ageOf(object)],
}

const resourceClaimColumns: KindColumns<ResourceClaim> = {
  columns: [nameColumn, textColumn('State', 'Allocation and reservation state.'), ageColumn],
  cells: (claim: Unchecked<ResourceClaim>) => [nameOf(claim), claimState(claim), ageOf(claim)],
}

const resourceSliceColumns: KindColumns<ResourceSlice> = {
  columns: [
    nameColumn,
    textColumn('Node', 'Node of the devices.'),
    textColumn('Driver', 'Driver of the devices.'),
    textColumn('Pool', 'Pool of the slice.'),
    ageColumn,
  ],
  cells: (slice: Unchecked<ResourceSlice>) => {
    const { nodeName = '', driver = '', pool } = slice.spec ?? {}
    return [nameOf(slice), nodeName, driver, pool?.name ?? '', ageOf(slice)]
  },
}

const deviceTaintRuleColumns: KindColumns<DeviceTaintRule> = {
  columns: [
    nameColumn,
    textColumn('Key', 'Key of the taint.'),
    textColumn('Value', 'Value of the taint.'),
    textColumn('Effect', 'Effect of the taint.'),
    textColumn('TimeAdded', 'Time since the taint was added.'),
    ageColumn,
  ],
  cells: (rule: Unchecked<DeviceTaintRule>) => {
    const { key = '', value = '', effect = '', timeAdded } = rule.spec?.taint ?? {}
    const added = timeAdded ? translateTimestampSince(timeAdded) : ''
    return [nameOf(rule), key, value, effect, added, ageOf(rule)]
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

function validateDeviceClass({ spec = {} }: Unchecked<DeviceClass>): FieldError[] {
  const { selectors, config, extendedResourceName: name } = spec
  return [
    ...validateSelectors('spec.selectors', selectors),
    ...validateList('spec.config', config, {
      itemsMax: configurationsMax,
      validateItem: validateConfiguration,
    }),
    ...(name === undefined || isExtendedResourceName(name)
      ? []
      : [invalid('spec.extendedResourceName', name, 'must be a valid extended resource name')]),
  ]
}
